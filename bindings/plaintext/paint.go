package plaintext

// Paint returns a text in a style, the parameters of an escape sequence; empty ones leave the text as it is.
func Paint(color bool, style, text string) string {
	if !color || style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}
