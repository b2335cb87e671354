# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex numbers and Fourier transforms inside JAX programs, against jax.jit."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="imports from JAX, which is not installed here")

import jax.numpy as jnp  # noqa: E402

import weft  # noqa: E402


def normal(seed, *shape):
    return (np.random.default_rng(seed).normal(size=shape) * 0.3).astype(np.float32)


def parts(values):
    """Real numbers as they are; of complex ones both parts."""
    return [part for x in values for part in ((x.real, x.imag) if jnp.iscomplexobj(x) else (x,))]


def rotary_embeddings():
    """As of Llama: pairs of features turned by the angle of their position."""

    def embed(w, x):
        frequencies = 1 / (1e4 ** (jnp.arange(0, 8, 2) / 8))
        turns = jnp.exp(1j * jnp.outer(jnp.arange(x.shape[1]), frequencies))
        y = x @ w
        z = jax.lax.complex(y[..., ::2], y[..., 1::2]) * turns[None]
        return jnp.stack([z.real, z.imag], -1).reshape(x.shape)

    return jax.value_and_grad(lambda w, x: (embed(w, x) ** 3).sum()), (normal(1, 8, 8), normal(0, 2, 6, 8))


def token_mixing():
    """As of FNet, and spectra that a gradient goes through."""

    def loss(w, x):
        y = x @ w
        mixed = jnp.fft.fft2(y, axes=(-2, -1)).real
        spectrum = jnp.fft.rfft(y)
        return (jnp.tanh(mixed) ** 2).sum() + jnp.abs(spectrum).sum() + jnp.fft.irfft(spectrum * (1 + 2j)).sum()

    return jax.value_and_grad(loss), (normal(0, 8, 8), normal(1, 2, 6, 8))


def diagonal_state_space():
    """As of S4D: a kernel of complex exponentials, and a convolution by its spectrum."""

    def loss(p, u):
        length = u.shape[-1]
        a, c = -jnp.exp(p["real"]) + 1j * p["imag"], p["c"][..., 0] + 1j * p["c"][..., 1]
        steps = a * jnp.exp(p["dt"])[:, None]
        c = c * (jnp.exp(steps) - 1) / a
        kernel = 2 * jnp.einsum("hn,hnl->hl", c, jnp.exp(steps[..., None] * jnp.arange(length))).real
        y = jnp.fft.irfft(jnp.fft.rfft(u, n=2 * length) * jnp.fft.rfft(kernel, n=2 * length), n=2 * length)
        return (jax.nn.gelu(y[..., :length]) ** 2).mean()

    p = {"real": normal(0, 4, 8), "imag": 9 * normal(1, 4, 8), "c": normal(2, 4, 8, 2), "dt": normal(3, 4) - 3}
    return jax.value_and_grad(loss), (p, normal(5, 2, 4, 16))


def arithmetic():
    def compute(x, y):
        z = jax.lax.complex(x, y)
        w = jnp.conj(z) / (z + 2)
        return parts([
            w, z @ z.T, jnp.einsum("ij,ij->i", z, w), jnp.sum(z * w, 0), z.mean(), z**2, z**3, jnp.vdot(z, w),
            jnp.log(z), jnp.exp(z), jnp.angle(z), jnp.sign(z), jnp.sign(z * 0), jnp.abs(z), jnp.abs(z * 0),
            jnp.linalg.norm(z), (z == w) | (z != z), jnp.cumsum(z, 0), z / 1e30 / 1e-30j])

    return compute, (normal(0, 4, 4), normal(1, 4, 4))


def moves_and_control_flow():
    def compute(x, y):
        z = jax.lax.complex(x, y)
        w = z * 1j
        return parts([
            jnp.concatenate([z, w]), z[jnp.array([1, 0])], jnp.where(x > 0, z, w), jnp.pad(z, 1), z[::-1],
            z.at[0].add(w[1]).at[1, 2].set(3j), jax.lax.dynamic_slice(z, (1, 1), (2, 2)),
            jax.lax.fori_loop(0, 3, lambda i, v: v * z + 1, z), *jax.lax.scan(lambda h, v: (h * v, h + v), z[0], z),
            jax.lax.cond(x[0, 0] > 0, lambda v: v * 2, lambda v: v * 1j, z), jax.jit(lambda v: v.T)(z)])

    return compute, (normal(0, 4, 4), normal(1, 4, 4))


def transforms():
    def compute(x):
        fft = jnp.fft
        z = jax.lax.complex(x, x * x + 1)
        return parts([
            fft.fft(z), fft.ifft(z), fft.fft2(z), fft.ifft2(z), fft.fftn(z), fft.ifftn(z), fft.rfft(x), fft.rfft2(x),
            fft.rfftn(x), fft.irfft(z), fft.irfft2(z), fft.irfftn(z), fft.irfft(z, n=5), fft.irfft(z, n=2),
            fft.hfft(z), fft.fft(z, n=1)]), jax.scipy.fft.dctn(x)

    return compute, (normal(0, 4, 6, 10),)


def long_transforms():
    """Powers of two, products of small primes, a prime, a product of two primes of which one is large."""

    def compute(x):
        lengths = (128, 1000, 127, 254)
        return parts([f(x[:, :n]) for n in lengths for f in (jnp.fft.fft, jnp.fft.rfft)] +
                     [jnp.fft.irfft(jnp.fft.rfft(x, axis=1)[:, :129])])

    return compute, (normal(0, 4, 1000),)


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("build", [
    rotary_embeddings, token_mixing, diagonal_state_space, arithmetic, moves_and_control_flow, transforms,
    long_transforms], ids=lambda build: build.__name__)
def test_as_jax(build, ranks):
    function, arguments = build()
    options = {}
    if ranks > 1:
        def spec(x):
            return weft.PartitionSpec(*[name if x.shape[i] % 2 == 0 else None
                                        for i, name in enumerate(("data", "model")[:x.ndim])])
        options = {"mesh": weft.Mesh((2, 2), ("data", "model")), "in_shardings": jax.tree.map(spec, arguments)}
    found = jax.tree.leaves(weft.from_jax(function, *arguments, **options).compile()(*arguments))
    wanted = jax.tree.leaves(jax.jit(function)(*arguments))
    for a, b in zip(found, wanted, strict=True):
        b = np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 * max(1e-3, np.abs(b).max()))


def test_in_double_precision():
    with jax.enable_x64(True):
        x = np.random.default_rng(0).normal(size=(2, 1000))
        function = lambda x: jnp.fft.fft(x).real  # noqa: E731
        found = weft.from_jax(function, x).compile()(x)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, np.fft.fft(x).real, rtol=0, atol=1e-12 * 1000)


def test_what_is_complex_at_the_border_is_refused():
    z = (normal(0, 4) + 1j * normal(1, 4)).astype(np.complex64)
    with pytest.raises(weft.CompileError, match="complex numbers are for use inside of a program; pass real and"):
        weft.from_jax(lambda z: z.real, z).compile()
