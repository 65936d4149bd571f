package script

// Colours of words the shell writes around values (spec 04 §3.7).
const (
	HeadingColor = "1;33"
	NameColor    = "1"
	DimColor     = "2"
)

// Paint returns a text in a colour, where colours are allowed.
func (s *Engine) Paint(color, text string) string {
	if !s.cfg.Color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}
