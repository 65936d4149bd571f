package expr

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/value"
)

// LetLiteral returns a let with one variable whose value is the document itself.
func LetLiteral(name string, doc bson.Raw) bson.Raw {
	return document.New(document.Field{Name: name, Value: literalOf(value.Object(doc))})
}

func literalOf(v value.Value) value.Value {
	return value.Object(document.New(document.Field{Name: "$literal", Value: v}))
}

// EvalLet evaluates the variables of a command, so that the receiver does not have to. Each result is a
// $literal. It fails with the cause of ctx when ctx ends.
func EvalLet(ctx context.Context, l Language, let bson.Raw) (bson.Raw, error) {
	if document.IsEmpty(let) {
		return let, nil
	}
	w := quota.New(ctx)
	sc, err := newScopeIn(w, l, let)
	if err == nil {
		err = w.Err()
	}
	if err != nil {
		return nil, err
	}
	var out []document.Field
	for name := range document.Fields(let) {
		out = append(out, letField(string(name), sc.InitialValues[sc.slots[string(name)]]))
	}
	return document.New(out...), nil
}

// LetWithNow returns evaluated variables with another value of $$NOW. A router sends its own time to the
// shards.
func LetWithNow(let bson.Raw, now time.Time) bson.Raw {
	fields := []document.Field{{Name: nowName, Value: value.Date(now.UnixMilli())}}
	for name, v := range document.Fields(let) {
		fields = append(fields, document.Field{Name: string(name), Value: v})
	}
	return document.New(fields...)
}

// letField returns a let field that defines a variable with a literal value.
func letField(name string, v value.Value) document.Field {
	if value.IsMissing(v) {
		return document.Field{Name: name, Value: value.String("$$REMOVE")}
	}
	return document.Field{Name: name, Value: literalOf(v)}
}

// LetForDocument evaluates variables for a document, as the let of another command. If let is nil, the
// only variable is "new", the document ($merge). It fails with the cause of ctx when ctx ends.
func LetForDocument(ctx context.Context, l Language, let, doc bson.Raw, now time.Time) (bson.Raw, error) {
	if let == nil {
		return LetLiteral("new", doc), nil
	}
	sc, err := NewScope(l, nil)
	if err != nil {
		return nil, err
	}
	w := quota.New(ctx)
	eval := NewEvaluation(sc, now, w)
	eval.Root = value.Object(doc)
	var out []document.Field
	for name, v := range document.Fields(let) {
		e, err := Compile(v, sc)
		if err != nil {
			return nil, err
		}
		result, err := e.Eval(eval)
		if err != nil {
			return nil, err
		}
		out = append(out, letField(string(name), result))
	}
	return document.New(out...), w.Err()
}
