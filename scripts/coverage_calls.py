# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One call of every public function of JAX and optax that computes with tensors.

A call is an expression of the function `f`, of the arrays of ARRAYS, which are the arguments of
the program, and of the modules jnp, lax, jax and optax.
"""

import numpy as np

_RANDOM = np.random.default_rng(0)
ARRAYS = {
    "x": _RANDOM.uniform(0.1, 0.9, (4, 6)).astype(np.float32),
    "y": _RANDOM.uniform(0.1, 0.9, (4, 6)).astype(np.float32),
    "v": _RANDOM.uniform(0.1, 0.9, 6).astype(np.float32),
    "w": _RANDOM.uniform(0.1, 0.9, 6).astype(np.float32),
    "m": (np.eye(4) * 4 + _RANDOM.uniform(0.1, 0.9, (4, 4))).astype(np.float32),
    "i": np.array([[3, 1, 2, 0, 5, 4]] * 4, np.int32),
    "j": np.array([1, 0, 3, 2, 1, 5], np.int32),
    "b": np.array([[True, False, True, True, False, True]] * 4),
    "u": np.array([3, 1, 200, 7], np.uint8),
    "t": _RANDOM.uniform(0.1, 0.9, (2, 8, 3)).astype(np.float32),
    "q": _RANDOM.uniform(0.1, 0.9, (2, 8, 4, 2)).astype(np.float32),
    "k": np.array([0, 7], np.uint32),
}

# What describes types and shapes, converts files and texts, or takes tokens, callbacks or scaled types.
NOT_CALLED = {
    "jax.numpy": """
            array_repr array_str broadcast_shapes can_cast einsum_path from_dlpack frombuffer fromfile
            fromiter frompyfunc fromstring get_printoptions iscomplexobj isdtype isrealobj isscalar
            issubdtype iterable load ndim printoptions promote_types result_type save savez
            set_printoptions shape size""",
    "jax.lax": """
            PrecisionLike ConvGeneralDilatedDimensionNumbers DotDimensionNumbers after_all
            broadcast_shapes conv_dimension_numbers conv_general_permutations conv_general_shape_tuple
            conv_shape_tuple conv_transpose_shape_tuple create_token dce_sink dtype padtype_to_pads
            precv psend reduce_window_shape_tuple shape_as_value stage""",
    "jax.nn": "get_scaled_dot_general_config",
    "jax.random": "key_dtype key_impl",
    "optax": """
            MaskOrFn OptState Params ScalarOrSchedule Schedule Updates freeze init_empty_state
            measure_with_ema microbatch monitor snapshot""",
}

# (expression, names)
CALLS = {
    "jax.numpy": [
        ("f(x, size=24)", "argwhere flatnonzero nonzero unique unique_all unique_counts unique_inverse unique_values"),
        ("f(v, w, size=12)", "intersect1d setdiff1d setxor1d union1d"),
        ("f((v, w))", "lexsort"),
        ("f(x, (1, 0))", "permute_dims"),
        ("f(x, y.T, 1)", "tensordot"),
        ("f(i % 2, [x, y], mode='clip')", "choose"),
        ("f(b[0], v, size=4)", "compress extract"),
        ("f(3, jnp.triu, size=6)", "mask_indices"),
        ("f(x)", """
            abs absolute acos angle arccos arcsin arctan arctanh argmax argmin argsort around array
            asarray asin asinh arcsinh atan atanh atleast_1d atleast_2d atleast_3d all any amax amin
            average cbrt ceil conj conjugate copy corrcoef cos cosh count_nonzero cov cumprod cumsum
            deg2rad degrees diag diagflat diagonal diff ediff1d empty_like exp exp2 expm1 fabs flip
            fliplr flipud floor gradient imag i0 iscomplex isfinite isinf isnan isneginf isposinf isreal
            log log10 log1p log2 matrix_transpose max mean median min modf frexp nan_to_num nanargmax
            nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar
            negative ones_like positive prod ptp rad2deg radians ravel real reciprocal rint rot90 round
            sign signbit sin sinc sinh sort sort_complex spacing sqrt square squeeze std sum tan tanh
            trace transpose trapezoid tril triu trunc unwrap var zeros_like broadcast_arrays"""),
        ("f(x + 1)", "acosh arccosh"),
        ("f(x, y)", """
            add allclose arctan2 array_equal array_equiv atan2 copysign divide divmod equal float_power
            floor_divide fmax fmin fmod greater greater_equal heaviside hypot isclose less less_equal
            logaddexp logaddexp2 maximum minimum mod multiply nextafter not_equal pow power remainder
            subtract true_divide kron vecdot"""),
        ("f(x, 2)", "split array_split tile repeat roll vsplit"),
        ("f(x, 3)", "hsplit"),
        ("f(t, 3)", "dsplit"),
        ("f(v, w)", """
            append convolve correlate inner outer vdot dot polyadd polymul polysub polyval polydiv
            searchsorted"""),
        ("f([x, y])", "block column_stack concat concatenate dstack hstack stack vstack"),
        ("f(i)", "bitwise_count bitwise_invert bitwise_not invert"),
        ("f(i, j)", """
            bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd lcm left_shift
            right_shift isin"""),
        ("f(x, i)", "ldexp"),
        ("f(b, b)", "logical_and logical_or logical_xor"),
        ("f(b)", "logical_not packbits"),
        ("f(u)", "unpackbits"),
        ("f(x, x.T)", "matmul "),
        ("f(x, v)", "matvec"),
        ("f(v, x.T)", "vecmat"),
        ("f(x[:, :3], y[:, :3])", "cross"),
        ("f(v, 3)", "argpartition partition vander"),
        ("f(3)", "bartlett blackman hamming hanning identity eye tri tril_indices triu_indices diag_indices"),
        ("f(x[:3, :3])", "diag_indices_from tril_indices_from triu_indices_from"),
        ("f(x, 0.5)", "percentile quantile nanpercentile nanquantile"),
        ("f(v, 2)", "polyder polyint"),
        ("f(v)", "poly meshgrid trim_zeros"),
        ("f(v, strip_zeros=False)", "roots"),
        ("f(v, w, 1)", "polyfit"),
        ("f(x, 0)", "expand_dims delete"),
        ("f(x)", "unstack"),
        ("f(v, 1, 1.0)", "insert"),
        ("f(x, 0, 1)", "moveaxis swapaxes rollaxis"),
        ("f(x, (3, 8))", "reshape resize"),
        ("f(v, (4, 6))", "broadcast_to"),
        ("f((3, 4), x[0, 0])", "full"),
        ("f((3, 4))", "empty ones zeros indices"),
        ("f(x, 2.0)", "full_like"),
        ("f(2, 9)", "arange linspace logspace geomspace"),
        ("f(j, length=6)", "bincount"),
        ("f(x, jnp.sort(v))", "digitize"),
        ("f(v, w, v)", "interp"),
        ("f(v)", "histogram histogram_bin_edges"),
        ("f(v, w)", "histogram2d"),
        ("f(x)", "histogramdd"),
        ("f(b, x, y)", "where"),
        ("f([b, ~b], [x, y])", "select"),
        ("f(x, [x < 0.5, x >= 0.5], [lambda a: a, lambda a: a + 1])", "piecewise"),
        ("f(x, 0.2, 0.8)", "clip"),
        ("f('ab,cb->ac', x, y)", "einsum"),
        ("f(x, 1)", "pad"),
        ("f(x, j)", "take"),
        ("f(x, i, axis=1)", "take_along_axis"),
        ("f(x, i, 1.0, axis=1, inplace=False)", "put_along_axis"),
        ("f(x, j, 1.0, inplace=False)", "put"),
        ("f(x, b, v, inplace=False)", "place"),
        ("f(m, 1.0, inplace=False)", "fill_diagonal"),
        ("f((i[0, :2], j[:2]), (6, 6), mode='clip')", "ravel_multi_index"),
        ("f(j, (2, 3))", "unravel_index"),
        ("f(lambda a: a.sum(), 0, x)", "apply_along_axis"),
        ("f(jnp.sum, x, [0])", "apply_over_axes"),
        ("f(x, jnp.bfloat16)", "astype"),
        ("f(lambda a, b: a + b, (3, 4))", "fromfunction"),
        ("f(lambda a: a.sum(), signature='(n)->()')(x)", "vectorize"),
        ("f(j[:3], j[3:])", "ix_"),
        ("f(5, 2.0)", "kaiser"),
        ("f(x, axis=1)", "cumulative_prod cumulative_sum"),
    ],
    "jax.lax": [
        ("f(x)", """
            abs acos asin asinh atan atanh bessel_i0e bessel_i1e cbrt ceil cos cosh digamma erf erf_inv
            erfc exp exp2 expm1 floor is_finite lgamma log log1p logistic neg optimization_barrier
            reciprocal round rsqrt sign sin sinh sqrt square stop_gradient tan tanh cumlogsumexp cummax
            cummin cumprod cumsum unstack"""),
        ("f(x + 1)", "acosh"),
        ("f(x, y)", """
            add atan2 div eq ge gt le lt max min mul ne nextafter pow rem sub igamma igammac
            igamma_grad_a random_gamma_grad complex broadcast_like"""),
        ("f(x + 2, y)", "zeta"),
        ("f(1.0 + jnp.floor(x), y)", "polygamma"),
        ("f(x, y, y)", "betainc"),
        ("f(x, 0, np.int32)", "argmax argmin"),
        ("f(v, 2)", "approx_max_k approx_min_k top_k"),
        ("f(lax.complex(x, y))", "conj imag real"),
        ("f(i)", "bitwise_not clz population_count"),
        ("f(i, i)", "bitwise_and bitwise_or bitwise_xor shift_left shift_right_arithmetic shift_right_logical mulhi"),
        ("f(x, jnp.int32)", "bitcast_convert_type convert_element_type"),
        ("f(jnp.add, x)", "associative_scan"),
        ("f(jnp.stack([m, m]), jnp.stack([m, m]))", "batch_matmul"),
        ("f(x, (2,))", "broadcast"),
        ("f(v, (4, 6), (1,))", "broadcast_in_dim"),
        ("f(x, 3)", "broadcast_to_rank"),
        ("f(np.int32, (3, 4), 1)", "broadcasted_iota"),
        ("f(np.int32, 4)", "iota"),
        ("f(0.2, x, 0.8)", "clamp"),
        ("f(x, 0)", "collapse"),
        ("f(lambda a: a + 1, 'weft.test')(x)", "composite"),
        ("f([x, y], 0)", "concatenate"),
        ("f([x, y])", "stack"),
        ("f(x[0, 0] > 0.5, lambda a: a + 1, lambda a: a * 2, x)", "cond"),
        ("f(j[0], [lambda a: a + 1, lambda a: a * 2], x)", "switch"),
        ("f(t, jnp.ones((5, 8, 3)), (1,), 'SAME')", "conv conv_general_dilated"),
        ("f(t, jnp.ones((5, 8, 3)), (1,), [(1, 1)], (1,), (1,))", "conv_with_general_padding"),
        ("f(t, jnp.ones((5, 24, 3, 3))[:, :, 0, :], (1,), [(1, 1)], (3,))", "conv_general_dilated_local"),
        ("f(t, (3,), (1,), 'SAME')", "conv_general_dilated_patches"),
        ("f(t, jnp.ones((3, 3, 5)), (2,), 'SAME')", "conv_transpose"),
        ("f(lambda a: m @ a, v[:4], lambda g, a: jnp.linalg.solve(m, a))", "custom_linear_solve"),
        ("f(lambda a: a**2 - 2, 1.0, lambda g, a: a + 0.4142135, lambda g, a: a / g(1.0))", "custom_root"),
        ("f(x, y.T)", "dot"),
        ("f(x, y, (((1,), (1,)), ((), ())))", "dot_general"),
        ("f(x, j[0], 0)", "dynamic_index_in_dim"),
        ("f(x, (j[0], j[1]), (2, 2))", "dynamic_slice"),
        ("f(x, j[0], 2)", "dynamic_slice_in_dim"),
        ("f(x, v, j[0], 0)", "dynamic_update_index_in_dim"),
        ("f(x, m[:2, :2], (j[0], j[1]))", "dynamic_update_slice"),
        ("f(x, y[:2], j[0], 0)", "dynamic_update_slice_in_dim"),
        ("f((3, 4), np.float32)", "empty"),
        ("f(x, (0,))", "expand_dims"),
        ("f(lax.complex(v, w), 'FFT', (6,))", "fft"),
        ("f(0, 3, lambda n, a: a * 1.5, x)", "fori_loop"),
        ("f((3, 4), 1.5)", "full"),
        ("f(x, 1.5)", "full_like"),
        ("f(x, i[:, :1], lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 6))", "gather"),
        ("f(x, (j,), (0,))", "index_take"),
        ("f(x, 1)", "index_in_dim"),
        ("f(x, 3)", "integer_pow"),
        ("f(lambda a: a.sum(), x)", "map"),
        ("f(x, 0.0, ((1, 1, 0), (0, 2, 1)))", "pad"),
        ("f(x, default=lambda a: a + 1)", "platform_dependent"),
        ("f(x, jnp.ones((2, 6, 5)), np.array([1, 3], np.int32))", "ragged_dot"),
        ("f(x, jnp.ones((2, 6, 5)), np.array([1, 3], np.int32), lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0]))",
         "ragged_dot_general"),
        ("f(x, 0.0, lax.add, (1,))", "reduce"),
        ("f(b, (1,))", "reduce_and reduce_or"),
        ("f(i, (1,))", "reduce_xor"),
        ("f(x, (1,))", "reduce_max reduce_min reduce_prod reduce_sum"),
        ("f(x, 5, 4)", "reduce_precision"),
        ("f(x, -np.inf, lax.max, (2, 2), (1, 1), 'VALID')", "reduce_window"),
        ("f(x, (6, 4))", "reshape"),
        ("f(x, (0,))", "rev"),
        ("f(jnp.stack([k, k]).reshape(4), (8,))", "rng_bit_generator"),
        ("f(x[0, 0], x[0, 0] + 1, (4,))", "rng_uniform"),
        ("f(jnp.ones((1, 32, 64)), jnp.ones((1, 64, 32)))", "scaled_dot"),
        ("f(lambda c, a: (c + a, c.sum()), v, x)", "scan"),
        ("f(x, j[:2, None] % 4, y[:2], lax.ScatterDimensionNumbers((1,), (0,), (0,)))",
         "scatter scatter_add scatter_max scatter_min scatter_mul scatter_sub"),
        ("f(x, j[:2, None] % 4, lambda a: a * 2, lax.ScatterDimensionNumbers((1,), (0,), (0,)), update_shape=(2, 6), unique_indices=True)",
         "scatter_apply"),
        ("f(b, x, y)", "select select_n"),
        ("f(x, (0, 1), (3, 4))", "slice"),
        ("f(x, 1, 3)", "slice_in_dim"),
        ("f(x)", "sort"),
        ("f(v, w)", "sort_key_val"),
        ("f(x, (2, 4), 1)", "split"),
        ("f(x[None], (0,))", "squeeze"),
        ("f(x, (2, 1))", "tile"),
        ("f(x, (1, 0))", "transpose"),
        ("f(lambda s: (s[0] < 9) & (s[1].sum() < 100), lambda s: (s[0] + 1, s[1] * 2), (0, x))", "while_loop"),
        ("f(x, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec('x')))", "with_sharding_constraint"),
        ("shard(lambda a: f(a, 'x'))", "pmax pmean pmin psum all_gather"),
        ("shard(lambda a: f(a, 'x', scatter_dimension=1, tiled=True))", "psum_scatter"),
        ("shard(lambda a: f(a, 'x', 1, 0, tiled=True))", "all_to_all"),
        ("shard(lambda a: f(a, 'x', [(0, 1), (1, 0)]))", "ppermute"),
        ("shard(lambda a: f(a, 'x', [1, 0]))", "pshuffle"),
        ("shard(lambda a: f(a, 'x', 0))", "pswapaxes"),
        ("shard(lambda a: f(a, 'x', 0))", "pbroadcast"),
        ("shard(lambda a: a + f('x'))", "axis_index axis_size"),
        ("shard(lambda a: f(a, ('x',), to='varying'))", "pcast"),
        ("shard(lambda a: f(a, jnp.zeros_like(a), np.array([0, 1], np.int32), np.array([1, 1], np.int32), np.array([0, 1], np.int32), "
         "np.array([1, 1], np.int32), axis_name='x'))", "ragged_all_to_all"),
    ],
    "jax.nn": [
        ("f(x)", """
            celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log1mexp
            log_sigmoid log_softmax logmeanexp logsumexp mish relu relu6 selu sigmoid silu soft_sign
            softmax softplus sparse_plus sparse_sigmoid squareplus standardize swish tanh"""),
        ("f(j, 6)", "one_hot"),
        ("f(q, q, q)", "dot_product_attention"),
        ("f(jnp.ones((1, 32, 64)), jnp.ones((1, 32, 64)), jnp.ones((1, 32, 2)), jnp.ones((1, 32, 2)))", "scaled_matmul"),
        ("f(jnp.ones((1, 32, 64)), jnp.ones((1, 32, 64)), (((2,), (2,)), ((0,), (0,))))", "scaled_dot_general"),
    ],
    "jax.random": [
        ("f(k)", "split clone"),
        ("f(k, 3)", "fold_in orthogonal"),
        ("f(k, (3, 4))", "bits cauchy exponential gumbel laplace logistic normal rademacher uniform maxwell"),
        ("f(k, shape=(3, 4))", "lognormal"),
        ("f(k, 0.5, shape=(3,))", "bernoulli geometric"),
        ("f(k, 2.0, (3,))", "chisquare gamma loggamma pareto poisson t rayleigh"),
        ("f(k, 2.0, 3.0, (3,))", "beta f"),
        ("f(k, 2.0, (3,))", "wald"),
        ("f(k, 0.1, 0.5, 0.9, (3,))", "triangular"),
        ("f(k, 5.0, 0.5, (3,))", "binomial"),
        ("f(k, 0.5, 2.0, (3,))", "weibull_min"),
        ("f(k, 2, shape=(3,))", "ball"),
        ("f(k, x)", "categorical permutation"),
        ("f(k, v)", "choice dirichlet"),
        ("f(k, 0.5, 1.0, (3,))", "double_sided_maxwell"),
        ("f(k, 5.0, v / v.sum(), shape=(6,))", "multinomial"),
        ("f(k, v[:4], m + m.T)", "multivariate_normal"),
        ("f(k, 2.0, (3,))", "generalized_normal"),
        ("f(k, (3,), 0, 9)", "randint"),
        ("f(k, -1.0, 1.0, (3, 4))", "truncated_normal"),
        ("f(jax.random.wrap_key_data(k))", "key_data"),
        ("f(k)", "wrap_key_data"),
        ("f(7)", "PRNGKey key"),
    ],
    "jax.numpy.linalg": [
        ("f(m)", """
            cholesky cond det diagonal eig eigh eigvals eigvalsh inv matrix_norm matrix_rank
            matrix_transpose norm pinv qr slogdet svd svdvals trace vector_norm"""),
        ("f(m, 3)", "matrix_power"),
        ("f(m, v[:4])", "lstsq solve tensorsolve"),
        ("f(m.reshape(2, 2, 2, 2))", "tensorinv"),
        ("f(x, y.T)", "matmul"),
        ("f(x, y.T, axes=1)", "tensordot"),
        ("f([x, y.T, x])", "multi_dot"),
        ("f(x, y)", "vecdot"),
        ("f(v, w)", "outer"),
        ("f(x[:, :3], y[:, :3])", "cross"),
    ],
    "jax.numpy.fft": [
        ("f(x)", "fft fft2 fftn fftshift ifftshift ihfft rfft rfft2 rfftn hfft ifft ifft2 ifftn irfft irfft2 irfftn"),
        ("f(8)", "fftfreq rfftfreq"),
    ],
    "optax": [
        ("optimize(f(0.1))", """
            adabelief adadelta adafactor adagrad adam adamax adamaxw adamw adan amsgrad fromage lamb
            lars lion nadam nadamw novograd optimistic_gradient_descent optimistic_adam
            optimistic_adam_v2 radam rmsprop rprop sgd sign_sgd signum sm3 yogi"""),
        ("optimize(f(0.1, key=0))", "noisy_sgd"),
        ("optimize(f(0.1))", """
            add_decayed_weights adaptive_grad_clip clip clip_by_block_rms clip_by_global_norm scale
            scale_by_learning_rate"""),
        ("optimize(f())", """
            centralize identity normalize_by_update_norm scale_by_adadelta scale_by_adam scale_by_adamax
            scale_by_adan scale_by_amsgrad scale_by_belief scale_by_distance_over_gradients
            scale_by_factored_rms scale_by_lion scale_by_novograd scale_by_optimistic_gradient
            scale_by_param_block_norm scale_by_param_block_rms scale_by_radam scale_by_rms scale_by_rss
            scale_by_sign scale_by_sm3 scale_by_stddev scale_by_trust_ratio scale_by_yogi set_to_zero
            zero_nans keep_params_nonnegative"""),
        ("optimize(f(0.1))", "scale_by_rprop ema trace"),
        ("optimize(f(2))", "apply_every"),
        ("optimize(f(0.1, 0.5, 7))", "add_noise"),
        ("optimize(f(optax.sgd(0.1), optax.sgd(0.1)))", "chain"),
        ("optimize(f(('a', optax.sgd(0.1)), ('b', optax.sgd(0.1))))", "named_chain"),
        ("optimize(f(optax.sgd(0.1), 3))", "apply_if_finite"),
        ("optimize(f(optax.adam(0.1)))", "flatten with_extra_args_support"),
        ("optimize(f(optax.adam(0.1), {'w': True, 'v': False}))", "masked"),
        ("optimize(f(optax.adam(0.1), lambda count: count < 2))", "conditionally_mask conditionally_transform"),
        ("optimize(f(optax.adam)(learning_rate=0.1))", "inject_hyperparams inject_stateful_hyperparams"),
        ("optimize(f({'a': optax.sgd(0.1), 'b': optax.adam(0.1)}, {'w': 'a', 'v': 'b'}))", "multi_transform partition"),
        ("optimize(f(optax.adam(0.1), freeze_mask={'w': True, 'v': False}))", "selective_transform"),
        ("optimize(f(lambda u, p: u))", "stateless"),
        ("optimize(f(lambda u, p: u))", "stateless_with_tree_map"),
        ("optimize(f(lambda count: 0.1 * count))", "scale_by_schedule"),
        ("f(0.1)(j[0])", "constant_schedule"),
        ("f(0.1, 0.01, 10)(j[0])", "linear_schedule"),
        ("f(0.1, 0.01, 2.0, 10)(j[0])", "polynomial_schedule"),
        ("f(0.1, 10)(j[0])", "cosine_decay_schedule"),
        ("f(10, 0.1)(j[0])", "cosine_onecycle_schedule linear_onecycle_schedule"),
        ("f(0.1, 10, 0.5)(j[0])", "exponential_decay"),
        ("f(0.1, {3: 0.5})(j[0])", "piecewise_constant_schedule"),
        ("f('linear', 0.1, {3: 0.5})(j[0])", "piecewise_interpolate_schedule"),
        ("f([optax.constant_schedule(0.1), optax.constant_schedule(0.2)], [3])(j[0])", "join_schedules"),
        ("f(0.0, 0.1, 3)(j[0])", "warmup_constant_schedule"),
        ("f(0.0, 0.1, 3, 10)(j[0])", "warmup_cosine_decay_schedule"),
        ("f(0.0, 0.1, 3, 10, 0.5)(j[0])", "warmup_exponential_decay_schedule"),
        ("f([dict(init_value=0.0, peak_value=0.1, warmup_steps=3, decay_steps=10)])(j[0])", "sgdr_schedule"),
        ("f(x, y)", """
            cosine_distance cosine_similarity hinge_loss huber_loss l2_loss log_cosh squared_error
            sigmoid_binary_cross_entropy sigmoid_focal_loss softmax_cross_entropy
            safe_softmax_cross_entropy apply_updates"""),
        ("f(jnp.log(x), y)", "kl_divergence convex_kl_divergence generalized_kl_divergence"),
        ("f(x[:4], j[:4])", "softmax_cross_entropy_with_integer_labels"),
        ("f(t, jnp.zeros((2, 8)), jnp.ones((2, 3), int), jnp.zeros((2, 3)))", "ctc_loss ctc_loss_with_forward_probs"),
        ("f(x, jnp.array([0, 0, 1, 1]))", "ntxent"),
        ("f(x, 0.1)", "smooth_labels safe_root_mean_squares safe_norm scale_gradient"),
        ("f(x)", "global_norm"),
        ("f({'a': x}, 0.9, j[0])", "bias_correction"),
        ("f(j[0])", "safe_increment safe_int32_increment"),
        ("f(x, y, 0.1)", "incremental_update"),
        ("f(x, y, j[0], 2)", "periodic_update"),
        ("f(x, y, 0.9, 1)", "update_moment"),
        ("f(x, y, 0.9, 2)", "update_moment_per_elem_norm"),
        ("f(x, y, 0.9, 1e-8)", "update_infinity_moment"),
        ("f(m + m.T)", "power_iteration"),
        ("f(m @ m.T, 2)", "matrix_inverse_pth_root"),
        ("f(m, v[:4], iters=3)", "nnls"),
        ("f([jnp.stack([x, y])], 1.0)", "per_example_global_norm_clip per_example_layer_norm_clip"),
        ("f(v, w).sample((2,), jax.random.wrap_key_data(k))", "multi_normal"),
        ("f(optax.adam(0.1), lambda a: a + 1, optax.adam(0.1).init({'w': x}))", "tree_map_params"),
        ("f(lambda p: (p**2).sum())(x, state=optax.lbfgs().init(x))", "value_and_grad_from_state"),
        ("search(f())", "lbfgs"),
        ("optimize(f())", "scale_by_lbfgs"),
        ("search(optax.chain(optax.sgd(0.1), f(3)))", "scale_by_zoom_linesearch scale_by_backtracking_linesearch"),
        ("search(f())", "polyak_sgd scale_by_polyak"),
        ("f({'w': x}, j[0], None, 3.0)[0]", "skip_large_updates"),
        ("f({'w': x}, j[0], None)[0]", "skip_not_finite"),
        ("lookahead(f(optax.sgd(0.1), 5, 0.5))", "lookahead"),
    ],
}
