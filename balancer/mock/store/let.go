package store

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Literal makes a command's let of one variable that stands for a document as
// it is.
func Literal(name string, doc bson.Raw) bson.Raw {
	return documentOf(field{name, literally(objectValue(doc))})
}

func literally(v value) value { return objectValue(documentOf(field{"$literal", v})) }

// LetOf evaluates variables over a document, for a command that takes them as a
// let of its own. Without any there is "new", the document ($merge).
func LetOf(let, doc bson.Raw, now time.Time) (bson.Raw, error) {
	if let == nil {
		return Literal("new", doc), nil
	}
	sc, err := newScope(nil)
	if err != nil {
		return nil, err
	}
	ctx := newEvaluation(sc, now, nil)
	ctx.root = objectValue(doc)
	var out []field
	for name, v := range fields(let) {
		e, err := compileExpression(v, sc)
		if err != nil {
			return nil, err
		}
		result, err := e.eval(ctx)
		if err != nil {
			return nil, err
		}
		if isMissing(result) {
			out = append(out, field{string(name), stringValue("$$REMOVE")})
			continue
		}
		out = append(out, field{string(name), literally(result)})
	}
	return documentOf(out...), nil
}
