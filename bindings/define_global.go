package bindings

import "github.com/dop251/goja"

// SetEJSON defines a global by extended JSON, for --setJSON. Numbers are plain
// ones where they stay exact.
func (s *Shell) SetEJSON(name, text string) error {
	v, err := s.world.ParseEJSON(text, true)
	if err != nil {
		return s.publicError(err)
	}
	return s.rt.GlobalObject().Set(name, v)
}

// Defines tells whether scripts find something under a name that no script
// has defined.
func (s *Shell) Defines(name string) bool {
	v := s.rt.GlobalObject().Get(name)
	return v != nil && !goja.IsUndefined(v)
}
