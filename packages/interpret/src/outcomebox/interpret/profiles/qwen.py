"""The special tokens of Qwen's tokenizers, which servers treat otherwise than text."""

ENDS = frozenset({"<|im_end|>", "<|endoftext|>"})
"""The tokens that end and pad a turn."""

SPECIAL = ENDS | {
    "<|im_start|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
}
"""Those that are no markup of reasoning or calls."""
