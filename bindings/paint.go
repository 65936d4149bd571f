package bindings

// Colours of words the shell writes around values (spec 04 §3.7).
const (
	headingColor = "1;33"
	nameColor    = "1"
	dimColor     = "2"
)

func (s *Engine) paint(color, text string) string {
	if !s.cfg.Color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}
