package expr

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/value"
)

// Expr is a compiled aggregation expression for use on its own.
type Expr struct {
	expr  Expression
	scope *Scope
	now   time.Time
}

// compileAlone compiles an expression. Variables come from let, and
// $$NOW is now.
func compileAlone(v bson.RawValue, let bson.Raw, now time.Time) (*Expr, error) {
	sc, err := NewScope(Language{}, let)
	if err != nil {
		return nil, err
	}
	e, err := Compile(v, sc)
	if err != nil {
		return nil, err
	}
	return &Expr{e, sc, now}, nil
}

// Eval returns the expression's value for a document. A value of type 0 means
// missing.
func (e *Expr) Eval(doc bson.Raw) (bson.RawValue, error) {
	ctx := NewEvaluation(e.scope, e.now, nil)
	ctx.Root = value.Object(doc)
	return e.expr.Eval(ctx)
}
