package store

func (c *exprCompiler) specialForms() map[string]form {
	return map[string]form{
		"$literal": func(_ string, arg value, _ *scope) (expression, error) { return literal(arg), nil },
	}
}
