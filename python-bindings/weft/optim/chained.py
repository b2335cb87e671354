# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers that are chains of other transforms."""

from typing import Any

from .moments import scale_by_adam, scale_by_lion, scale_by_rms, scale_by_rss, scale_by_stddev
from .scaling import add_decayed_weights, identity, scale_by_learning_rate, scale_by_trust_ratio, trace
from .transform import Transform, chain, checked_rate


def adam(learning_rate: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8,
         eps_root: float = 0.0, mu_dtype: Any = None, *, nesterov: bool = False) -> Transform:
    """Adam (Kingma and Ba). `learning_rate` is, here and below, a number or a schedule of the
    number of steps made."""
    return _named("adam", learning_rate, scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov),
                  scale_by_learning_rate)


def adagrad(learning_rate: Any, initial_accumulator_value: float = 0.1, eps: float = 1e-7) -> Transform:
    """AdaGrad (Duchi, Hazan and Singer)."""
    return _named("adagrad", learning_rate, scale_by_rss(initial_accumulator_value, eps), scale_by_learning_rate)


def rmsprop(learning_rate: Any, decay: float = 0.9, eps: float = 1e-8, initial_scale: float = 0.0,
            eps_in_sqrt: bool = True, centered: bool = False, momentum: float | None = None,
            nesterov: bool = False, bias_correction: bool = False) -> Transform:
    """RMSProp (Hinton); `centered` by the standard deviation of gradients."""
    by = scale_by_stddev if centered else scale_by_rms
    return _named("rmsprop", learning_rate, by(decay, eps, initial_scale, eps_in_sqrt, bias_correction),
                  scale_by_learning_rate, identity() if momentum is None else trace(momentum, nesterov))


def lion(learning_rate: Any, b1: float = 0.9, b2: float = 0.99, mu_dtype: Any = None,
         weight_decay: Any = 1e-3, mask: Any = None) -> Transform:
    """Lion (Chen et al.), with weight decay as that of adamw."""
    return _named("lion", learning_rate, scale_by_lion(b1, b2, mu_dtype), add_decayed_weights(weight_decay, mask),
                  scale_by_learning_rate)


def lamb(learning_rate: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-6, eps_root: float = 0.0,
         weight_decay: Any = 0.0, mask: Any = None) -> Transform:
    """LAMB (You et al.): Adam, with steps of each parameter as long as it is, times the rate."""
    return _named("lamb", learning_rate, scale_by_adam(b1, b2, eps, eps_root),
                  add_decayed_weights(weight_decay, mask), scale_by_trust_ratio(), scale_by_learning_rate)


def lars(learning_rate: Any, weight_decay: Any = 0.0, weight_decay_mask: Any = True,
         trust_coefficient: float = 0.001, eps: float = 0.0, trust_ratio_mask: Any = True,
         momentum: float = 0.9, nesterov: bool = False) -> Transform:
    """LARS (You, Gitman and Ginsburg): momentum, with gradients scaled to their parameters."""
    return _named("lars", learning_rate, add_decayed_weights(weight_decay, weight_decay_mask),
                  scale_by_trust_ratio(0.0, trust_coefficient, eps, trust_ratio_mask), scale_by_learning_rate,
                  trace(momentum, nesterov))


def _named(name: str, learning_rate: Any, *transforms: Any) -> Transform:
    """A chain of transforms, of which one is scale_by_learning_rate, which takes the rate."""
    checked_rate(name, learning_rate)
    chained = chain(*(scale_by_learning_rate(learning_rate) if t is scale_by_learning_rate else t
                      for t in transforms))
    return Transform(name, chained.init, chained.update)
