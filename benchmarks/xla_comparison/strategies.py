# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parallelisms under which models are compared, each on 8 devices."""

import dataclasses

import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P


@dataclasses.dataclass(frozen=True)
class Strategy:
    """What mesh axis splits the batch, and dimensions of each kind (see xla_models.model)."""

    mesh: dict[str, int]
    batch: str | tuple[str, ...] | None = None
    fsdp: str | None = None
    tp: str | None = None
    rows: str | tuple[str, ...] | None = None
    space: str | None = None
    """Of images; the only kind that not all models have."""

    def make_mesh(self):
        return jax.make_mesh(tuple(self.mesh.values()), tuple(self.mesh),
                             axis_types=(AxisType.Auto,) * len(self.mesh))

    def spec(self, kinds):
        return P(*(getattr(self, kind) if kind else None for kind in kinds))

    def shardings(self, mesh, tree, kinds_of):
        """A tree of shardings: `kinds_of(path, ndim)` names the kind of each dimension."""
        def of_leaf(path, leaf):
            kinds = kinds_of(jax.tree_util.keystr(path), leaf.ndim)
            return NamedSharding(mesh, self.spec(kinds))
        return jax.tree_util.tree_map_with_path(of_leaf, tree)


STRATEGIES = {
    "DP": Strategy({"data": 8}, batch="data", rows="data"),
    "TP": Strategy({"model": 8}, tp="model", rows="model"),
    "FSDP": Strategy({"data": 8}, batch="data", fsdp="data", rows="data"),
    "FSDP+TP": Strategy({"data": 4, "model": 2}, batch="data", fsdp="data", tp="model",
                        rows=("data", "model")),
    # Weights are split within a replica and whole among replicas.
    "3 axes": Strategy({"replica": 2, "data": 2, "model": 2}, batch=("replica", "data"),
                       fsdp="data", tp="model", rows=("data", "model")),
    "Space": Strategy({"data": 2, "space": 4}, batch="data", space="space"),
}
