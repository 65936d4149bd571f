package args

import "go.mongodb.org/mongo-driver/v2/bson"

// Values are the declared fields that are present and not null.
type Values map[string]bson.RawValue

// Has reports whether a field is there.
func (v Values) Has(name string) bool {
	_, ok := v[name]
	return ok
}

// Text returns a string; empty for what is none.
func (v Values) Text(name string) string {
	s, _ := v[name].StringValueOK()
	return s
}

// Object returns a document; nil for what is none.
func (v Values) Object(name string) bson.Raw {
	doc, _ := v[name].DocumentOK()
	return doc
}

// Binary returns binary data; nil for what is none.
func (v Values) Binary(name string) []byte {
	_, data, _ := v[name].BinaryOK()
	return data
}

// Truth reads a bool or a number.
func (v Values) Truth(name string) bool { return Truth(v[name]) }

// Number reads a SafeInt.
func (v Values) Number(name string) int64 { return ClampedInt(v[name]) }

// OptionalBool reads an optional bool; nil when it is absent.
func (v Values) OptionalBool(name string) *bool {
	if !v.Has(name) {
		return nil
	}
	on := v.Truth(name)
	return &on
}
