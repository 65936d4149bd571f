package call

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

// The mock compares texts by their bytes. A collation says how texts are compared, and nothing else: a
// request that has one is answered as long as no text is compared, and refused otherwise.

// Collation reads the collation of a command or of a statement; nil is the order by bytes.
func (c *Call) Collation(from bson.Raw) (bson.Raw, error) {
	v := from.Lookup("collation")
	if v.IsZero() || v.Type == bson.TypeNull {
		return nil, nil
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field '%s.collation' is the wrong type '%s', expected type 'object'", c.Invoked, args.TypeName(v.Type))
	}
	collation, err := args.ReadCollation("collation", doc)
	if err != nil && c.Cmd.Name == "find" {
		return nil, mongoerr.Wrap(err, "unable to parse collation")
	}
	return collation, err
}

// CheckSimpleCollation refuses every other.
func (c *Call) CheckSimpleCollation(from bson.Raw) error {
	collation, err := c.Collation(from)
	if err == nil && collation != nil {
		err = ErrCollation(collation)
	}
	return err
}

// ErrCollation is the error for texts that would need a comparison by collation.
func ErrCollation(collation bson.Raw) error {
	return mongoerr.New(mongoerr.NotImplemented, "the mock compares by bytes only: collation %s is not supported here",
		collation)
}

// CheckNoTexts refuses conditions with texts where there is a collation.
func CheckNoTexts(collation bson.Raw, conditions ...bson.RawValue) error {
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
		return hasTexts(v.Value)
	}
	return false
}

// hasTexts reports whether a document holds a text that a comparison may meet.
func hasTexts(doc bson.Raw) bool {
	for w := keyorder.NewWalk(doc); w.Next(); {
		if hasText(w.Value) {
			return true
		}
	}
	return false
}

// nonComparingStages are stages that compare nothing.
func nonComparingStages() []string { return []string{"$limit", "$sample", "$skip", "$unset"} }

// textOperators are operators of expressions whose results are texts that no document held.
func textOperators() []string {
	return []string{"$convert", "$dateToString", "$objectToArray", "$toLower", "$toString", "$toUpper", "$type"}
}

// StagesCompare reports whether stages compare what documents hold, and whether they compare texts of
// their own: names of fields and variables begin with $ and are none.
func StagesCompare(stages []bson.Raw) (documents, own bool) {
	for _, stage := range stages {
		name, spec, err := Stage(stage)
		switch {
		case err != nil || slices.Contains(nonComparingStages(), name):
		case name == "$match":
			documents, own = true, own || hasText(spec)
		default:
			documents, own = true, own || hasLiteralText(spec)
		}
	}
	return documents, own
}

func hasLiteralText(v bson.RawValue) bool {
	if text, is := v.StringValueOK(); is {
		return !strings.HasPrefix(text, "$")
	}
	if v.Type != bson.TypeEmbeddedDocument && v.Type != bson.TypeArray {
		return false
	}
	for w := keyorder.NewWalk(v.Value); w.Next(); {
		if slices.Contains(textOperators(), string(w.Name)) || hasLiteralText(w.Value) {
			return true
		}
	}
	return false
}

// checkOrdered refuses a document with texts in fields that a query's collation would order.
func (q Query) checkOrdered(doc bson.Raw) error {
	for w := keyorder.NewWalk(q.Order); w.Next(); {
		if field, _, _ := strings.Cut(string(w.Name), "."); hasText(doc.Lookup(field)) {
			return ErrCollation(q.Collation)
		}
	}
	return nil
}

// OrderCheck returns what refuses documents that the query can't put in the order of its collation; nil
// where there is nothing to refuse.
func (q Query) OrderCheck() func(doc bson.Raw) error {
	if q.Collation == nil || len(q.Order) <= emptyBytes || !q.Order.Lookup("$natural").IsZero() {
		return nil
	}
	return q.checkOrdered
}

// emptyBytes is the length of an empty document.
const emptyBytes = 5

// CheckCompared refuses a document with texts where they are compared.
func CheckCompared(collation, doc bson.Raw) error {
	if collation != nil && hasTexts(doc) {
		return ErrCollation(collation)
	}
	return nil
}
