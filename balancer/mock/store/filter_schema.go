package store

func (c *filterCompiler) schema(value) (node, error) {
	return nil, badValue("unknown top level operator: $jsonSchema")
}
