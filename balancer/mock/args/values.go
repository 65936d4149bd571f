package args

import "go.mongodb.org/mongo-driver/v2/bson"

// Values are the declared fields that are present and not null.
type Values map[string]bson.RawValue

// Has reports whether a field is present.
func (v Values) Has(name string) bool {
	_, ok := v[name]
	return ok
}

// Text returns a string, empty if the field is not a string.
func (v Values) Text(name string) string {
	s, _ := v[name].StringValueOK()
	return s
}

// Object returns a document, nil if the field is not a document.
func (v Values) Object(name string) bson.Raw {
	doc, _ := v[name].DocumentOK()
	return doc
}

// Binary returns binary data, nil if the field is not binary.
func (v Values) Binary(name string) []byte {
	_, data, _ := v[name].BinaryOK()
	return data
}

// Bool returns a bool, or whether a number is not zero.
func (v Values) Bool(name string) bool { return IsTrueOrNonzero(v[name]) }

// Int reads a SafeInt.
func (v Values) Int(name string) int64 { return ClampedInt(v[name]) }

// OptionalBool returns a bool, nil if the field is absent.
func (v Values) OptionalBool(name string) *bool {
	if !v.Has(name) {
		return nil
	}
	on := v.Bool(name)
	return &on
}
