// Package args parses the fields of commands as servers do. It knows the types that a field accepts, how
// values are converted, and the errors for invalid values (rules/03-commands §0.5).
package args

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mongoerr"
)

// Field is one declared field of a command.
type Field struct {
	name           string
	kind           Kind
	required       bool
	missingCode    mongoerr.Code   // if not the default
	since          catalog.Release // zero where all releases have it
	subfields      []Field         // of the object, or of each object in the array; nil: not checked
	oneOf          []string        // the strings that the field accepts; nil for all
	min            *int64          // of a number; nil for any
	namespaceError string          // format of the error for an invalid namespace; empty for the usual one
	typeNames      string          // the types as error messages list them; empty for the kind's own list
}

// Name returns the field's name.
func (f Field) Name() string { return f.name }

// Kind returns the kind of values that the field accepts.
func (f Field) Kind() Kind { return f.kind }

// IsRequired reports whether the field must be present.
func (f Field) IsRequired() bool { return f.required }

// Subfields returns the fields of the object, or of each object in the array. It returns nil if they are
// not checked.
func (f Field) Subfields() []Field { return f.subfields }

// AllowedStrings returns the strings that the field accepts, nil for all.
func (f Field) AllowedStrings() []string { return f.oneOf }

// Required declares a required field.
func Required(name string, kind Kind) Field { return Field{name: name, kind: kind, required: true} }

// Optional declares an optional field.
func Optional(name string, kind Kind) Field { return Field{name: name, kind: kind} }

// WithMissingCode returns the field with its own error code for a missing value, as old-style commands
// have it.
func (f Field) WithMissingCode(code mongoerr.Code) Field {
	f.missingCode = code
	return f
}

// WithNamespaceError returns the field with its own error message for an invalid namespace; %s stands for the name.
func (f Field) WithNamespaceError(format string) Field {
	f.namespaceError = format
	return f
}

// Since returns the field as one that older releases do not know.
func (f Field) Since(r catalog.Release) Field {
	f.since = r
	return f
}

// WithFields returns the field as an object, or an array of objects, that accepts only these fields.
func (f Field) WithFields(fields ...Field) Field {
	f.subfields = fields
	return f
}

// OneOf returns the field as one that accepts only these strings.
func (f Field) OneOf(values ...string) Field {
	f.oneOf = values
	return f
}

// WithTypeNames returns the field with its own order of types in error messages. A server's order differs
// between the IDL files that its parsers are generated from.
func (f Field) WithTypeNames(list string) Field {
	f.typeNames = list
	return f
}

// AtLeast returns the field with a minimum value.
func (f Field) AtLeast(n int64) Field {
	f.min = &n
	return f
}

// FieldsFor returns the fields that exist in a release.
func FieldsFor(r catalog.Release, fields []Field) []Field {
	var known []Field
	for _, f := range fields {
		if f.since == (catalog.Release{}) || r.FCVAtLeast(f.since) {
			known = append(known, f)
		}
	}
	return known
}

// IsGeneric reports whether every command accepts the top-level field.
func IsGeneric(name string) bool {
	_, ok := genericFields[name]
	return ok
}

// IsDriverField reports whether a driver adds the field to a user's command.
func IsDriverField(name string) bool { return slices.Contains(driverFields, name) }

var driverFields = []string{
	"$db", "lsid", "txnNumber", "autocommit", "startTransaction", "$clusterTime", "$readPreference",
	"apiVersion", "apiStrict", "apiDeprecationErrors",
}

// genericFields are the fields that every command accepts. The fields without a kind are checked later,
// by the code that uses them.
var genericFields = map[string]Field{
	"$db": {}, "apiVersion": {}, "apiStrict": {}, "apiDeprecationErrors": {},
	"maxTimeMS":   Optional("maxTimeMS", SafeInt),
	"readConcern": {}, "writeConcern": {}, "lsid": {}, "txnNumber": {}, "autocommit": {},
	"startTransaction": {}, "stmtId": {}, "comment": {}, "clientOperationKey": {},
	"$readPreference": {}, "$clusterTime": {}, "$audit": {}, "$client": {}, "$configTime": {},
	"$topologyTime": {}, "$queryOptions": {},
}

// Spec is the part of a command's description that Parse needs.
type Spec struct {
	Name    string
	Aliases []string
	// ErrorPrefix is the prefix of field names in error messages; nil for Name.
	ErrorPrefix *string
	// Fields are the declared fields; nil for commands that parse their fields by hand.
	Fields []Field
	// Strict commands reject unknown fields with error 40415.
	Strict bool
}

// Parse checks the declared fields of a command and returns the present ones. It checks the fields in
// the order of the command, then missing fields, and last the value of the command name. Old-style
// commands check their collection first.
func (s Spec) Parse(body bson.Raw) (Values, error) {
	if s.Fields == nil {
		return nil, nil
	}
	parsed := Values{}
	place := s.errorPrefix()
	if f, _ := findField(s.Fields, s.Name); f.kind == OldCollection {
		if err := s.parseCommandValue(body, parsed); err != nil {
			return nil, err
		}
	}
	for w := keyorder.NewWalk(body); w.Next(); {
		v := w.Value
		if s.isCommandName(w.Name) {
			continue
		}
		f, known := findField(s.Fields, w.Name)
		if !known {
			common, isGeneric := genericFields[string(w.Name)]
			if s.Strict && !isGeneric {
				return nil, UnknownField(place, string(w.Name))
			}
			if f = common; f.kind == Any || !s.Strict {
				continue
			}
		}
		if err := parsed.add(place, f, v); err != nil {
			return nil, err
		}
	}
	for _, f := range s.Fields {
		if f.required && f.name != s.Name && !parsed.Has(f.name) {
			return nil, f.missingError(place)
		}
	}
	return parsed, s.parseCommandValue(body, parsed)
}

func (s Spec) errorPrefix() string {
	if s.ErrorPrefix != nil {
		return *s.ErrorPrefix
	}
	return s.Name
}

// ParseOnlyCommandValue checks the value of the command's own name only.
func (s Spec) ParseOnlyCommandValue(body bson.Raw) (Values, error) {
	parsed := Values{}
	return parsed, s.parseCommandValue(body, parsed)
}

// CheckMaxTimeAndFieldNames checks maxTimeMS, and that all fields are known, if the command declares
// maxTimeMS. All other checks follow later.
func (s Spec) CheckMaxTimeAndFieldNames(body bson.Raw) error {
	f, declared := findField(s.Fields, "maxTimeMS")
	if !declared {
		return nil
	}
	for w := keyorder.NewWalk(body); w.Next(); {
		_, known := findField(s.Fields, w.Name)
		switch _, isGeneric := genericFields[string(w.Name)]; {
		case string(w.Name) == f.name && !f.isAbsent(w.Value):
			if err := f.Check(s.errorPrefix(), w.Value); err != nil {
				return err
			}
		case s.Strict && !known && !isGeneric && !s.isCommandName(w.Name):
			return UnknownField(s.errorPrefix(), string(w.Name))
		}
	}
	return nil
}

// CheckNamespaces rejects invalid database and collection names. A server checks most names when the command
// runs.
func (s Spec) CheckNamespaces(parsed Values) error {
	for _, f := range s.Fields {
		if later := kinds[f.kind].onRun; later != nil && parsed.Has(f.name) {
			if err := later(s.Name, f, parsed[f.name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// parseCommandValue checks the value of the command name. It may be null if it accepts any value.
func (s Spec) parseCommandValue(body bson.Raw, parsed Values) error {
	f, declared := findField(s.Fields, s.Name)
	if !declared {
		return nil
	}
	for w := keyorder.NewWalk(body); w.Next(); {
		if !s.isCommandName(w.Name) {
			continue
		}
		if err := parsed.add(s.Name, f, w.Value); err != nil {
			return err
		}
	}
	if f.required && f.kind != Any && !parsed.Has(s.Name) {
		return f.missingError(s.Name)
	}
	return nil
}

// add checks a field and stores its value. A later value of the same name is ignored.
func (v Values) add(cmd string, f Field, value bson.RawValue) error {
	if f.isAbsent(value) {
		return nil
	}
	if err := f.Check(cmd, value); err != nil {
		return err
	}
	if !v.Has(f.name) {
		v[f.name] = value
	}
	return nil
}

// isCommandName reports whether a field has the command's own name, which may be an alias.
func (s Spec) isCommandName(name []byte) bool {
	if string(name) == s.Name {
		return true
	}
	return len(s.Aliases) > 0 && slices.Contains(s.Aliases, string(name))
}

func findField[N string | []byte](fields []Field, name N) (Field, bool) {
	for i := range fields {
		if fields[i].name == string(name) {
			return fields[i], true
		}
	}
	return Field{}, false
}

// isAbsent reports whether the field counts as missing: it is missing or null, and null is not a type
// error.
func (f Field) isAbsent(v bson.RawValue) bool {
	if v.Type == bson.TypeNull || v.Type == bson.TypeUndefined {
		return !kinds[f.kind].rejectsNull
	}
	return v.IsZero()
}

// Check checks a document in a command. place is the prefix of field names in error messages.
func Check(place string, fields []Field, doc bson.Raw) error {
	elems, err := doc.Elements()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for _, e := range elems {
		f, known := findField(fields, e.Key())
		if !known {
			return UnknownField(place, e.Key())
		}
		if f.isAbsent(e.Value()) {
			continue
		}
		if err := f.Check(place, e.Value()); err != nil {
			return err
		}
		if later := kinds[f.kind].onRun; later != nil {
			if err := later(place, f, e.Value()); err != nil {
				return err
			}
		}
	}
	for _, f := range fields {
		if f.required && f.isAbsent(doc.Lookup(f.name)) {
			return f.missingError(place)
		}
	}
	return nil
}

func (f Field) missingError(place string) error {
	if f.missingCode != 0 {
		return mongoerr.New(f.missingCode, "Missing expected field \"%s\"", f.name)
	}
	return MissingField(place, f.name)
}

// checkSubfields checks the fields of an object, or of each object in an array.
func (f Field) checkSubfields(place string, v bson.RawValue) error {
	if f.subfields == nil {
		return nil
	}
	place += "." + f.name
	if v.Type == bson.TypeArray {
		docs, err := DocumentsAt(place, v)
		for i := 0; i < len(docs) && err == nil; i++ {
			err = Check(place, f.subfields, docs[i])
		}
		return err
	}
	if doc, ok := v.DocumentOK(); ok {
		return Check(place, f.subfields, doc)
	}
	return nil
}

// checkAllowed rejects strings and numbers that the field does not accept.
func (f Field) checkAllowed(place string, v bson.RawValue) error {
	if text, ok := v.StringValueOK(); ok && f.oneOf != nil && !slices.Contains(f.oneOf, text) {
		return mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '%s.%s' is not a valid value.", text, place,
			f.name)
	}
	if f.min != nil {
		return f.checkMin(v, *f.min)
	}
	return nil
}

func (f Field) checkMin(v bson.RawValue, least int64) error {
	if n, ok := Number(v); ok && n < float64(least) {
		return mongoerr.New(mongoerr.BadValue, "BSON field '%s' value must be >= %d, actual value '%d'", f.name, least,
			int64(n))
	}
	return nil
}

// UnknownField returns the error for an unknown field.
func UnknownField(place, name string) error {
	return mongoerr.New(mongoerr.IDLUnknownField, "BSON field '%s.%s' is an unknown field.", place, name)
}

// MissingField returns the error for a missing required field.
func MissingField(place, name string) error {
	return mongoerr.New(mongoerr.IDLFailedToParse, "BSON field '%s.%s' is missing but a required field", place, name)
}
