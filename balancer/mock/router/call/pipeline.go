package call

import (
	"iter"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

// AggregateNamespace returns the namespace of an aggregation: a collection, or <db>.$cmd.aggregate for
// {aggregate: 1}.
func (c *Call) AggregateNamespace() (ns string, database bool, err error) {
	v := c.Body.Lookup("aggregate")
	if n, isNumber := v.AsInt64OK(); isNumber {
		if n != 1 {
			return "", false, mongoerr.New(mongoerr.FailedToParse,
				"Invalid command format: the 'aggregate' field must specify a collection name or 1")
		}
		return c.DB + ".$cmd.aggregate", true, nil
	}
	ns, err = c.Namespace()
	return ns, false, err
}

// Stage returns the name and the specification of a pipeline stage.
func Stage(doc bson.Raw) (name string, spec bson.RawValue, err error) {
	elems, err := doc.Elements()
	if err != nil || len(elems) != 1 {
		return "", spec, mongoerr.New(mongoerr.NotOneStageField,
			"A pipeline stage specification object must contain exactly one field.")
	}
	return elems[0].Key(), elems[0].Value(), nil
}

// StageNames iterates over the stage names of a pipeline. It skips invalid stages; their errors are
// found when the pipeline is compiled.
func StageNames(pipeline bson.RawValue) iter.Seq[string] {
	return func(yield func(string) bool) {
		array, _ := pipeline.ArrayOK()
		values, _ := array.Values()
		for _, v := range values {
			doc, _ := v.DocumentOK()
			if name, _, err := Stage(doc); err == nil && !yield(name) {
				return
			}
		}
	}
}

// ChangeStreamSpec reports whether an aggregation begins with $changeStream, and returns the
// specification and the other stages.
func (c *Call) ChangeStreamSpec() (spec bson.RawValue, rest []bson.Raw, is bool) {
	stages, err := args.Documents(c.Body.Lookup("pipeline"))
	if err != nil || len(stages) == 0 {
		return spec, nil, false
	}
	name, spec, err := Stage(stages[0])
	return spec, stages[1:], err == nil && name == "$changeStream"
}
