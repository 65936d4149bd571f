package call

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// The mock compares strings bytewise. A collation affects only the comparison of strings. So the mock
// accepts a request with a collation as long as it compares no strings, and rejects it otherwise.

// Collation reads the collation of a command or statement. It returns nil for the bytewise order.
func (c *Call) Collation(from bson.Raw) (bson.Raw, error) {
	v := from.Lookup("collation")
	if v.IsZero() || v.Type == bson.TypeNull {
		return nil, nil
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field '%s.collation' is the wrong type '%s', expected type 'object'", c.InvokedAs, args.TypeName(v.Type))
	}
	collation, err := args.ReadCollation("collation", doc)
	if err != nil && c.Cmd.Name == "find" {
		return nil, mongoerr.Wrap(err, "unable to parse collation")
	}
	return collation, err
}

// CheckSimpleCollation rejects every collation but the simple one.
func (c *Call) CheckSimpleCollation(from bson.Raw) error {
	collation, err := c.Collation(from)
	if err == nil && collation != nil {
		err = ErrCollation(collation)
	}
	return err
}

// ErrCollation returns the error for a comparison of strings by a collation.
func ErrCollation(collation bson.Raw) error {
	return mongoerr.New(mongoerr.NotImplemented, "the mock compares by bytes only: collation %s is not supported here",
		collation)
}

// CheckNoStrings rejects conditions that contain strings if there is a collation.
func CheckNoStrings(collation bson.Raw, conditions ...bson.RawValue) error {
	if collation != nil && slices.ContainsFunc(conditions, hasText) {
		return ErrCollation(collation)
	}
	return nil
}

func hasText(v bson.RawValue) bool {
	switch v.Type {
	case bson.TypeString, bson.TypeSymbol:
		return true
	case bson.TypeEmbeddedDocument, bson.TypeArray:
		return documentHasText(v.Value)
	}
	return false
}

// documentHasText reports whether a document contains a string that a comparison may use.
func documentHasText(doc bson.Raw) bool {
	for w := keyorder.NewWalk(doc); w.Next(); {
		if hasText(w.Value) {
			return true
		}
	}
	return false
}

// nonComparingStages returns the stages that compare no values.
func nonComparingStages() []string { return []string{"$limit", "$sample", "$skip", "$unset"} }

// stringOperators returns the expression operators that generate strings that are in no document.
func stringOperators() []string {
	return []string{"$convert", "$dateToString", "$objectToArray", "$toLower", "$toString", "$toUpper", "$type"}
}

// StagesCompare reports whether stages compare values of documents, and whether the stages contain
// strings of their own. Strings that begin with $ are names of fields and variables and do not count.
func StagesCompare(stages []bson.Raw) (compares, ownTexts bool) {
	for _, stage := range stages {
		name, spec, err := Stage(stage)
		switch {
		case err != nil || slices.Contains(nonComparingStages(), name):
		case name == "$match":
			compares, ownTexts = true, ownTexts || hasText(spec)
		default:
			compares, ownTexts = true, ownTexts || hasLiteralText(spec)
		}
	}
	return compares, ownTexts
}

func hasLiteralText(v bson.RawValue) bool {
	if text, ok := v.StringValueOK(); ok {
		return !strings.HasPrefix(text, "$")
	}
	if v.Type != bson.TypeEmbeddedDocument && v.Type != bson.TypeArray {
		return false
	}
	for w := keyorder.NewWalk(v.Value); w.Next(); {
		if slices.Contains(stringOperators(), string(w.Name)) || hasLiteralText(w.Value) {
			return true
		}
	}
	return false
}

// checkSortable rejects a document with strings in the fields that the query sorts by.
func (q Query) checkSortable(doc bson.Raw) error {
	for w := keyorder.NewWalk(q.SortPattern); w.Next(); {
		if field, _, _ := strings.Cut(string(w.Name), "."); hasText(doc.Lookup(field)) {
			return ErrCollation(q.Collation)
		}
	}
	return nil
}

// OrderCheck returns a function that rejects documents that the query cannot sort by its collation. It
// returns nil if no check is needed.
func (q Query) OrderCheck() func(doc bson.Raw) error {
	if q.Collation == nil || document.IsEmpty(q.SortPattern) || !q.SortPattern.Lookup("$natural").IsZero() {
		return nil
	}
	return q.checkSortable
}

// CheckComparable rejects a document with strings if there is a collation.
func CheckComparable(collation, doc bson.Raw) error {
	if collation != nil && documentHasText(doc) {
		return ErrCollation(collation)
	}
	return nil
}
