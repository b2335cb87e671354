# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The optimizers of `weft.optim`: the numbers of optax, or of its formulas in NumPy."""

import importlib.util

import numpy as np
import pytest
from running import evaluate

import weft
import weft.numpy as wnp
from weft import P, optim, tree

STEPS = 12
random = np.random.default_rng(0)
PARAMS = {"blocks": [{"w": random.normal(size=(4, 6)).astype(np.float32)} for _ in range(2)],
          "scale": random.normal(size=6).astype(np.float32)}
# Some steps are clipped to a norm of 4 and some are not.
GRADS = [tree.map(lambda p: (random.normal(size=p.shape) * (0.2 if i % 3 else 2)).astype(np.float32),
                  PARAMS) for i in range(STEPS)]
MASK = {"blocks": [{"w": True}, {"w": False}], "scale": False}
SCHEDULE = {"init_value": 0.001, "peak_value": 0.02, "warmup_steps": 4, "decay_steps": 10,
            "end_value": 0.002}

OPTIMIZERS = {
    "sgd": lambda o: o.sgd(0.1),
    "momentum": lambda o: o.sgd(0.1, momentum=0.9),
    "nesterov": lambda o: o.sgd(0.1, momentum=0.9, nesterov=True),
    "scheduled sgd": lambda o: o.sgd(o.linear_schedule(0.1, 0.01, 8), momentum=0.5),
    "adamw": lambda o: o.adamw(1e-2),
    "adamw, all options": lambda o: o.adamw(1e-2, b1=0.8, b2=0.95, eps=1e-5, weight_decay=0.1,
                                            mask=MASK),
    "mask of a function": lambda o: o.adamw(
        1e-2, weight_decay=0.1, mask=lambda params: tree.map(lambda p: p.ndim > 1, params)),
    "clipping": lambda o: o.chain(o.clip_by_global_norm(4.0), o.sgd(0.1)),
    "transformer": lambda o: o.chain(o.clip_by_global_norm(4.0), o.adamw(
        o.warmup_cosine_decay_schedule(**SCHEDULE), 0.9, 0.95, weight_decay=0.1)),
    "cosine": lambda o: o.sgd(o.cosine_decay_schedule(0.1, 8, 0.2)),
    "constant": lambda o: o.sgd(o.constant_schedule(0.1)),
    "adam": lambda o: o.adam(1e-2),
    "adam, all options": lambda o: o.adam(o.linear_schedule(1e-2, 1e-3, 8, transition_begin=2), 0.8, 0.95, 1e-5,
                                          1e-6, nesterov=True),
    "adafactor": lambda o: o.adafactor(0.1, min_dim_size_to_factor=2),
    "adafactor, all options": lambda o: o.adafactor(
        lambda count: 0.1 / (count + 1), 2, 0.7, 0, True, 0.5, 0.9, "float32", 0.01, 1e-20, True),
    "adafactor, by elements": lambda o: o.adafactor(0.1, factored=False, clipping_threshold=None,
                                                    multiply_by_parameter_scale=False),
    "adagrad": lambda o: o.adagrad(0.1),
    "adagrad, all options": lambda o: o.adagrad(0.1, initial_accumulator_value=0.0, eps=1e-5),
    "rmsprop": lambda o: o.rmsprop(1e-2),
    "rmsprop, all options": lambda o: o.rmsprop(1e-2, 0.8, 1e-5, 0.5, eps_in_sqrt=False, momentum=0.9,
                                                nesterov=True, bias_correction=True),
    "centered rmsprop": lambda o: o.rmsprop(1e-2, centered=True, initial_scale=1.0),
    "centered rmsprop, all options": lambda o: o.rmsprop(1e-2, eps=1e-2, centered=True, bias_correction=True,
                                                         eps_in_sqrt=False, momentum=0.5),
    "lion": lambda o: o.lion(1e-2),
    "lion, all options": lambda o: o.lion(1e-2, 0.8, 0.95, weight_decay=0.1, mask=MASK),
    "lamb": lambda o: o.lamb(1e-2),
    "lamb, all options": lambda o: o.lamb(1e-2, 0.8, 0.95, 1e-5, 1e-6, weight_decay=0.1, mask=MASK),
    "lars": lambda o: o.lars(1.0),
    "lars, all options": lambda o: o.lars(1.0, 0.1, MASK, 0.01, 1e-3, MASK, 0.5, nesterov=True),
    "weight decay by a schedule": lambda o: o.chain(
        o.add_decayed_weights(o.linear_schedule(0.1, 0.0, 8)), o.scale(-0.1)),
    "scales": lambda o: o.chain(o.scale_by_schedule(o.cosine_decay_schedule(0.1, 8)), o.identity(),
                                o.scale_by_learning_rate(0.5), o.scale_by_learning_rate(0.5, flip_sign=False)),
    "traces": lambda o: o.chain(o.trace(0.9), o.trace(0.5, nesterov=True), o.scale(-0.1)),
    "means": lambda o: o.chain(o.ema(0.9), o.ema(0.5, debias=False), o.scale(-0.1)),
    "clipped elements": lambda o: o.chain(o.clip(0.5), o.sgd(0.1)),
    "clipped blocks": lambda o: o.chain(o.clip_by_block_rms(0.5), o.sgd(0.1)),
    "trust ratio": lambda o: o.chain(o.scale_by_trust_ratio(3.0, 0.5, 1e-2), o.scale(-0.01)),
    "exponential decay": lambda o: o.sgd(o.exponential_decay(0.1, 4, 0.5)),
    "exponential decay, all options": lambda o: o.sgd(o.exponential_decay(
        0.1, 2, 0.5, transition_begin=3, staircase=True, end_value=0.02)),
    "exponential growth": lambda o: o.sgd(o.exponential_decay(0.01, 3, 2.0, end_value=0.05)),
    "steps": lambda o: o.sgd(o.piecewise_constant_schedule(0.1, {3: 0.5, 8: 0.1})),
    "polynomial": lambda o: o.sgd(o.polynomial_schedule(0.1, 0.01, 2.0, 6, transition_begin=2)),
    "joined": lambda o: o.sgd(o.join_schedules(
        [o.linear_schedule(0.0, 0.1, 4), o.constant_schedule(0.1), o.cosine_decay_schedule(0.1, 4)], [4, 7])),
}


def trained(optimizer, params=PARAMS):
    """The parameters after each gradient, by steps in weft."""
    def step(params, state, grads):
        updates, state = optimizer.update(grads, state, params)
        return optim.apply_updates(params, updates), state

    step, state = weft.jit(step, donate_argnums=(0, 1)), evaluate(optimizer.init, params)
    result = []
    for grads in GRADS:
        params, state = step(params, state, grads)
        # The next step takes the memory of these.
        result.append(tree.map(np.asarray, params))
    return result


def assert_close(found, expected):
    for a, b in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.skipif(not importlib.util.find_spec("optax"), reason="optax is not installed here")
def test_against_optax(name):
    import optax

    reference, params, expected = OPTIMIZERS[name](optax), PARAMS, []
    state = reference.init(params)
    for grads in GRADS:
        updates, state = reference.update(grads, state, params)
        params = optax.apply_updates(params, updates)
        expected.append(tree.map(np.asarray, params))
    assert_close(trained(OPTIMIZERS[name](optim)), expected)


def test_adamw_against_its_formulas():
    """Clipped, warmed up and decayed, in doubles."""
    flat = [np.concatenate([leaf.ravel() for leaf in tree.leaves(t)]).astype(float)
            for t in (PARAMS, *GRADS)]
    p, mu, nu, norms = flat[0], 0.0, 0.0, []
    for t, g in enumerate(flat[1:]):
        norms.append(np.linalg.norm(g))
        g = g * min(1.0, 4.0 / norms[-1])
        mu, nu = 0.9 * mu + 0.1 * g, 0.95 * nu + 0.05 * g * g
        cosine = 0.002 + 0.018 * 0.5 * (1 + np.cos(np.pi * min((t - 4) / 6, 1)))
        rate = 0.001 + 0.019 * t / 4 if t < 4 else cosine
        p = p - rate * (mu / (1 - 0.9 ** (t + 1)) / (np.sqrt(nu / (1 - 0.95 ** (t + 1))) + 1e-8)
                        + 0.1 * p)
    assert min(norms) < 4 < max(norms)
    last = trained(OPTIMIZERS["transformer"](optim))[-1]
    found = np.concatenate([leaf.ravel() for leaf in tree.leaves(last)])
    np.testing.assert_allclose(found, p, rtol=5e-6, atol=5e-7)


def test_nesterov_against_its_formulas():
    expected, traces = PARAMS, tree.map(np.zeros_like, PARAMS)
    for grads in GRADS:
        traces = tree.map(lambda g, t: g + 0.9 * t, grads, traces)
        expected = tree.map(lambda p, g, t: p - 0.1 * (g + 0.9 * t), expected, grads, traces)
    assert_close(trained(OPTIMIZERS["nesterov"](optim))[-1], expected)


def test_master_weights_keep_steps_that_bfloat16_loses():
    """Steps of 1/1000 of a number: a half of what bfloat16 tells apart is 1/512."""
    grads = {"w": np.full(8, 1e-3, np.float32)}

    def steps(optimizer):
        def f(grads):
            params = {"w": wnp.ones(8, wnp.bfloat16)}
            state = optimizer.init(params)
            for _ in range(8):
                updates, state = optimizer.update(grads, state, params)
                params = optim.apply_updates(params, updates)
            return {"w": params["w"].astype(wnp.float32), "state": state}
        return evaluate(f, grads)

    assert (steps(optim.sgd(1.0))["w"] == 1.0).all()
    result = steps(optim.master_weights(optim.sgd(1.0)))
    np.testing.assert_allclose(result["state"]["master"]["w"], 0.992, rtol=1e-6)
    np.testing.assert_array_equal(result["w"], np.float32(0.9921875))  # 0.992 in bfloat16


def test_the_master_of_bfloat16_takes_the_steps_of_float32():
    """The bfloat16 parameters are the float32 ones, rounded, whatever the optimizer."""
    def rounded(tree_):
        return tree.map(lambda p: p.astype(wnp.bfloat16), tree_)

    def f(params, grads):
        optimizers = optim.adamw(1e-2), optim.master_weights(optim.adamw(1e-2))
        exact = tree.map(lambda p: p.astype(wnp.float32), rounded(params))
        few = rounded(params)
        states = optimizers[0].init(exact), optimizers[1].init(few)
        for g in grads:
            g = rounded(g)
            wide = tree.map(lambda leaf: leaf.astype(wnp.float32), g)
            updates, first = optimizers[0].update(wide, states[0], exact)
            exact = optim.apply_updates(exact, updates)
            updates, second = optimizers[1].update(g, states[1], few)
            few = optim.apply_updates(few, updates)
            states = first, second
        return exact, states[1]["master"], [tree.map(lambda p: p.astype(wnp.float32), t)
                                            for t in (rounded(exact), few)]

    exact, master, (expected, found) = evaluate(f, PARAMS, GRADS[:4])
    for a, b in zip(tree.leaves([exact, expected]), tree.leaves([master, found]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_states_are_dicts_whose_paths_end_as_those_of_parameters():
    optimizer = optim.master_weights(
        optim.chain(optim.sgd(1.0, momentum=0.9), optim.clip_by_global_norm(1.0),
                    optim.sgd(optim.constant_schedule(1.0))))
    state = weft.eval_shape(optimizer.init, {"w": np.zeros((4, 2), np.float32)})
    struct = weft.ShapeDtypeStruct((4, 2), "float32")
    assert state == {"master": {"w": struct}, "inner": {
        "sgd": {"trace": {"w": struct}}, "clip_by_global_norm": {},
        "sgd_1": {"count": weft.ShapeDtypeStruct((), "int32")}}}


def test_specs_of_a_state():
    params = {"head": {"w": weft.ShapeDtypeStruct((8, 4), "float32")},
              "w": weft.ShapeDtypeStruct((4, 4), "float32")}
    rules = weft.rules([("head/w", P("model")), ("w", P("data"))])
    state = weft.eval_shape(optim.adamw(1e-3).init, params)
    moments = {"head": {"w": P("model")}, "w": P("data")}
    assert optim.state_specs(state, params, rules) == {"count": P(), "mu": moments, "nu": moments}
    # A table of specs, and a leaf that has the path of a parameter but not its shape.
    factored = {"rows": {"head": {"w": weft.ShapeDtypeStruct((8,), "float32")}}}
    assert optim.state_specs(factored, params, {"head": P("model"), "w": P()}) == {
        "rows": {"head": {"w": P()}}}
    alone = weft.ShapeDtypeStruct((8,), "float32")
    assert optim.state_specs({"mu": alone}, alone, P("data")) == {"mu": P("data")}


def test_moments_of_another_type():
    params = {"w": np.ones(4, np.float32)}
    for optimizer, name in ((optim.adam(1.0, mu_dtype="bfloat16"), "scale_by_adam"),
                            (optim.lion(1.0, mu_dtype="bfloat16"), "scale_by_lion")):
        state = weft.eval_shape(optimizer.init, params)
        assert state[name]["mu"]["w"].dtype == wnp.bfloat16
        updates, following = weft.eval_shape(optimizer.update, params, state, params)
        assert updates["w"].dtype == np.float32 and following == state
    moments = optim.trace(0.9, accumulator_dtype="float16")
    assert moments.init(params)["trace"]["w"].dtype == np.float16
    assert weft.eval_shape(moments.update, params, moments.init(params))[1]["trace"]["w"].dtype == np.float16


def test_global_norm_of_bfloat16_is_summed_in_float32():
    def f():
        return optim.global_norm({"a": wnp.full((4096,), 0.5, wnp.bfloat16), "b": wnp.ones(16)})

    np.testing.assert_allclose(evaluate(f), np.sqrt(1024 + 16), rtol=1e-6)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="cosine_decay_schedule needs decay_steps > 0, got -2"):
        optim.warmup_cosine_decay_schedule(0.0, 1.0, 10, 8)
    with pytest.raises(ValueError, match="linear_schedule needs transition_steps > 0, got 0"):
        optim.linear_schedule(0.0, 1.0, 0)
    with pytest.raises(ValueError, match="polynomial_schedule needs transition_steps > 0, got 0"):
        optim.polynomial_schedule(0.0, 1.0, 2, 0)
    with pytest.raises(ValueError, match="exponential_decay needs decay_rate > 0, got 0"):
        optim.exponential_decay(0.1, 4, 0)
    with pytest.raises(ValueError, match="join_schedules takes .*, got 1 schedules and 1 boundaries"):
        optim.join_schedules([optim.constant_schedule(0.1)], [4])
    mask = {"blocks": [{"w": 1}, {"w": False}], "scale": None}
    with pytest.raises(TypeError, match=r"a mask of adamw is .*, but mask\['blocks'\]\[0\]\['w'\] is"):
        weft.eval_shape(optim.adamw(1e-3, mask=mask).update, GRADS[0],
                        evaluate(optim.adamw(1e-3).init, PARAMS), PARAMS)


def test_states_can_be_made_outside_of_a_traced_function():
    for make in OPTIMIZERS.values():
        found, expected = make(optim).init(PARAMS), evaluate(make(optim).init, PARAMS)
        assert tree.structure(found) == tree.structure(expected)
        for a, b in zip(tree.leaves(found), tree.leaves(expected), strict=True):
            assert isinstance(a, np.ndarray) and a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    # In one they are part of the program.
    assert weft.eval_shape(optim.adamw(0.1).init, PARAMS)["count"].dtype == np.int32


@pytest.mark.parametrize("rate", ["x", None, True, [0.1], np.ones(2)])
@pytest.mark.parametrize("make", [optim.sgd, optim.adamw, optim.adam, optim.scale_by_learning_rate])
def test_a_learning_rate_is_a_number_or_a_schedule(make, rate):
    with pytest.raises(TypeError, match=f"^{make.__name__} takes a learning rate that is a number or"):
        make(rate)
