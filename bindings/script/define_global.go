package script

import "slices"

// SetGlobalEJSON defines a global by extended EJSONText, for --setJSON. Numbers become JavaScript numbers
// where they stay exact.
func (s *Engine) SetGlobalEJSON(name, text string) error {
	v, err := s.Values.ParseEJSON(text, true)
	if err != nil {
		return s.Errors.convertError(err)
	}
	return s.Runtime.GlobalObject().Set(name, v)
}

// HasGlobal reports whether a global with a name exists.
func (s *Engine) HasGlobal(name string) bool {
	return slices.Contains(s.Runtime.GlobalObject().GetOwnPropertyNames(), name)
}
