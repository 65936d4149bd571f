package args

import (
	"bytes"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mongoerr"
)

// CheckDuplicateKeys rejects duplicate keys where keys are options: in the command, in documents of
// options, in the explained command, and in pipeline stages. Otherwise code that reads the first
// duplicate and code that reads the last would see different commands. Documents, filters, expressions
// and patterns are not checked: they may repeat a key.
func CheckDuplicateKeys(body bson.Raw) error {
	if name, twice := duplicateKey(body); twice {
		return mongoerr.New(mongoerr.FailedToParse, "Parsed command object contains duplicate top level key: %s", name)
	}
	w := keyorder.NewWalk(body)
	if !w.Next() {
		return nil
	}
	return checkFields(fieldPath{name: w.Name}, body, commandFields)
}

// fieldPath is the path of a document in a command, for error messages.
type fieldPath struct {
	parent *fieldPath
	name   []byte
}

func (p fieldPath) String() string {
	if p.parent == nil {
		return string(p.name)
	}
	return p.parent.String() + "." + string(p.name)
}

// checkMode says how a value is checked for duplicate keys.
type checkMode uint8

const (
	options             checkMode = iota // a document of options, or an array of such documents
	opaque                               // not checked
	pipeline                             // an array of stages
	pipelineOrUpdate                     // a pipeline; a document is not checked
	optionsOrKeyPattern                  // options; a key pattern is not checked
)

// shape says how a value is checked. fields holds the shapes of the fields of options. A field without
// an entry has the shape under the empty name, or by default is checked as options with the same fields.
type shape struct {
	mode   checkMode
	fields map[string]shape
}

// check checks one value; at is its path for error messages.
func (s shape) check(at fieldPath, v bson.RawValue) error {
	switch s.mode {
	case opaque:
		return nil
	case pipeline, pipelineOrUpdate:
		return checkStages(v)
	case optionsOrKeyPattern:
		doc, _ := v.DocumentOK()
		if doc.Lookup("keyPattern").IsZero() && doc.Lookup("name").IsZero() {
			return nil
		}
	}
	return checkOptions(at, v, s.fields)
}

// checkStages checks the stages of a pipeline. Invalid pipelines pass here and fail later.
func checkStages(v bson.RawValue) error {
	list, err := Documents(v)
	if err != nil {
		return nil //nolint:nilerr // the command says what is wrong
	}
	for _, stage := range list {
		elems, err := stage.Elements()
		if err != nil || len(elems) != 1 {
			continue
		}
		name := elems[0].Key()
		stageShape, known := stageShapes[name]
		if !known {
			continue
		}
		if err := stageShape.check(fieldPath{name: []byte(name)}, elems[0].Value()); err != nil {
			return err
		}
	}
	return nil
}

// checkOptions checks a document or each document in an array.
func checkOptions(at fieldPath, v bson.RawValue, fields map[string]shape) error {
	switch v.Type {
	case bson.TypeArray:
		for w := keyorder.NewWalk(v.Value); w.Next(); {
			if err := checkOptions(at, w.Value, fields); err != nil {
				return err
			}
		}
	case bson.TypeEmbeddedDocument:
		if name, twice := duplicateKey(v.Value); twice {
			return duplicateError(at.String(), name)
		}
		return checkFields(at, v.Value, fields)
	}
	return nil
}

func checkFields(at fieldPath, doc []byte, fields map[string]shape) error {
	for w := keyorder.NewWalk(doc); w.Next(); {
		if w.Value.Type != bson.TypeEmbeddedDocument && w.Value.Type != bson.TypeArray {
			continue
		}
		sub, known := fields[string(w.Name)]
		if !known {
			if sub, known = fields[""]; !known {
				sub = shape{fields: fields}
			}
		}
		if err := sub.check(fieldPath{&at, w.Name}, w.Value); err != nil {
			return err
		}
	}
	return nil
}

// duplicateError returns the server's error for an option that occurs twice.
func duplicateError(at, name string) error {
	if stage, _, _ := strings.Cut(at, "."); handParsedStages[stage] {
		return mongoerr.New(mongoerr.FailedToParse, "duplicate argument to %s: %s", at, name)
	}
	return mongoerr.New(mongoerr.IDLDuplicateField, "BSON field '%s.%s' is a duplicate field", at, name)
}

// maxPairwiseKeys is the number of keys up to which keys are compared pairwise. More keys go into a set.
const maxPairwiseKeys = 16

// duplicateKey returns a key that occurs twice.
func duplicateKey(doc []byte) (name string, twice bool) {
	var buf [maxPairwiseKeys][]byte
	few := buf[:0]
	var seen map[string]bool
	for w := keyorder.NewWalk(doc); w.Next(); {
		switch {
		case seen != nil:
			if seen[string(w.Name)] {
				return string(w.Name), true
			}
			seen[string(w.Name)] = true
			continue
		case slices.ContainsFunc(few, func(other []byte) bool { return bytes.Equal(other, w.Name) }):
			return string(w.Name), true
		}
		if few = append(few, w.Name); len(few) == maxPairwiseKeys {
			seen = make(map[string]bool, 2*maxPairwiseKeys)
			for _, name := range few {
				seen[string(name)] = true
			}
		}
	}
	return "", false
}
