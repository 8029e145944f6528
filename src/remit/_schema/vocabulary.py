"""The words of the subset, and what to write instead of the words outside it (SPEC 3.5)."""

from typing import Final

DECIMAL_PATTERN: Final = r"^-?[0-9]+(\.[0-9]+)?$"
"""The one form of a decimal number in text (SPEC 3.5)."""

DIALECTS: Final = frozenset(
    {"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#"}
)
TYPES: Final = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
COUNTS: Final = ("minItems", "maxItems", "minLength", "maxLength")
FLAGS: Final = ("uniqueItems", "deprecated")
TEXTS: Final = ("title", "description")
ANNOTATIONS: Final = frozenset({"title", "description", "default", "examples", "deprecated"})
STRUCTURE: Final = frozenset(
    {"type", "enum", "const", "properties", "required", "additionalProperties", "items", "pattern", "format", "anyOf"}
    | {"default", "examples"}
)
KEYWORDS: Final = STRUCTURE | set(NUMBERS) | set(COUNTS) | set(FLAGS) | set(TEXTS)

FORMAT_HINTS: Final = {
    "duration": "an int that counts milliseconds",
    "binary": "a str that holds base64 text",
    "base64url": "a str that holds base64 text",
    "path": "a str",
    "password": "nothing: secrets do not travel through agents",
}
KEYWORD_HINTS: Final = {
    "patternProperties": "a list of models with a key field",
    "propertyNames": "a list of models with a key field",
    "definitions": "`$defs`",
    "oneOf": "`anyOf`, or a tagged union: Field(discriminator=…) with a tag that has no default",
    "allOf": "one schema that says it all",
    "prefixItems": "a model with one named field per position",
    "contentMediaType": "a model instead of JSON inside text",
    "not": "what is allowed, instead of what is not",
    "nullable": '`"type": [..., "null"]`',
}
