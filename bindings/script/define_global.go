package script

import "slices"

// SetEJSON defines a global by extended JSON, for --setJSON. Numbers are plain
// ones where they stay exact.
func (s *Engine) SetEJSON(name, text string) error {
	v, err := s.Values.ParseEJSON(text, true)
	if err != nil {
		return s.Errors.public(err)
	}
	return s.Runtime.GlobalObject().Set(name, v)
}

// Defines reports whether a global of that name is there already.
func (s *Engine) Defines(name string) bool {
	return slices.Contains(s.Runtime.GlobalObject().GetOwnPropertyNames(), name)
}
