"""What clients see: the JSON Schemas of records, the refusals, and the OpenAPI document that is generated from them."""
