package store

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Expr is a compiled aggregation expression for use on its own.
type Expr struct {
	expr  expression
	scope *scope
	now   time.Time
}

// CompileExpr compiles an expression. Variables come from let, and
// $$NOW is now.
func CompileExpr(v bson.RawValue, let bson.Raw, now time.Time) (*Expr, error) {
	sc, err := newScope(let)
	if err != nil {
		return nil, err
	}
	e, err := compileExpression(v, sc)
	if err != nil {
		return nil, err
	}
	return &Expr{e, sc, now}, nil
}

// Eval returns the expression's value for a document. A value of type 0 means
// missing.
func (e *Expr) Eval(doc bson.Raw) (bson.RawValue, error) {
	ctx := newEvaluation(e.scope, e.now, nil)
	ctx.root = objectValue(doc)
	return e.expr.eval(ctx)
}
