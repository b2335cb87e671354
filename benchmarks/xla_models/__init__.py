# Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps in JAX on which Weft is compared with XLA."""

from . import (batchnorm, bert, clip, dit, dlrm, factorisation, gcn, gmlp, gpt2, llama, lora,
               mixer, mlp, palm, perceiver, recurrent, resnet, row_lm, soft_moe, ssm, t5, unet, vae, vit)

MODELS = {
    "mlp": mlp.MODEL,
    "vae": vae.MODEL,
    "batchnorm": batchnorm.MODEL,
    "resnet": resnet.MODEL,
    "gpt2": gpt2.MODEL,
    "gpt2-scan": gpt2.SCANNED,
    "llama": llama.MODEL,
    "llama-odd-heads": llama.ODD_HEADS,
    "bert": bert.MODEL,
    "t5": t5.MODEL,
    "palm": palm.MODEL,
    "lora": lora.MODEL,
    "row-lm": row_lm.MODEL,
    "vit": vit.MODEL,
    "dit": dit.MODEL,
    "unet": unet.MODEL,
    "clip": clip.MODEL,
    "perceiver": perceiver.MODEL,
    "perceiver-bare": perceiver.BARE,
    "mixer": mixer.MODEL,
    "mixer-bare": mixer.BARE,
    "gmlp": gmlp.MODEL,
    "soft-moe": soft_moe.MODEL,
    "gru": recurrent.GRU,
    "lstm": recurrent.LSTM,
    "ssm-scan": ssm.SCANNED,
    "ssm-associative": ssm.ASSOCIATIVE,
    "dlrm": dlrm.MODEL,
    "factorisation": factorisation.MODEL,
    "gcn": gcn.MODEL,
}
