package store

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Literal makes a command's let of one variable that stands for a document as
// it is.
func Literal(name string, doc bson.Raw) bson.Raw {
	return documentOf(field{name, literally(objectValue(doc))})
}

func literally(v value) value { return objectValue(documentOf(field{"$literal", v})) }

// Settled evaluates the variables of a command, so that whoever is given them
// need not: each stands for its value as it is. It fails with the cause of ctx
// when that ends.
func Settled(ctx context.Context, let bson.Raw) (bson.Raw, error) {
	if isEmpty(let) {
		return let, nil
	}
	w := newWork(ctx)
	sc, err := newScopeIn(w, let)
	if err == nil {
		err = w.over()
	}
	if err != nil {
		return nil, err
	}
	var out []field
	for name := range fields(let) {
		out = append(out, settled(string(name), sc.values[sc.slots[string(name)]]))
	}
	return documentOf(out...), nil
}

// settled makes a variable stand for a value.
func settled(name string, v value) field {
	if isMissing(v) {
		return field{name, stringValue("$$REMOVE")}
	}
	return field{name, literally(v)}
}

// LetOf evaluates variables over a document, for a command that takes them as a
// let of its own. Without any there is "new", the document ($merge). It fails with
// the cause of ctx when that ends.
func LetOf(ctx context.Context, let, doc bson.Raw, now time.Time) (bson.Raw, error) {
	if let == nil {
		return Literal("new", doc), nil
	}
	sc, err := newScope(nil)
	if err != nil {
		return nil, err
	}
	w := newWork(ctx)
	of := newEvaluation(sc, now, w)
	of.root = objectValue(doc)
	var out []field
	for name, v := range fields(let) {
		e, err := compileExpression(v, sc)
		if err != nil {
			return nil, err
		}
		result, err := e.eval(of)
		if err != nil {
			return nil, err
		}
		out = append(out, settled(string(name), result))
	}
	return documentOf(out...), w.over()
}
