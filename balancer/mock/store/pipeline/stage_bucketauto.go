package pipeline

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// compileBucketAuto compiles $bucketAuto, which divides the documents into buckets of about the same
// size. Equal values stay in the same bucket.
func (c *compiler) compileBucketAuto(name string, arg value.Value) (stage, error) {
	raw, err := expr.ReadNamedArgs(name, arg, expr.NamedArgs{
		Args: []string{"groupBy", "buckets", "output", "granularity"}, NotObjectCode: 40240, UnknownCode: 40245,
		MissingCodes: []int32{40246, 40246},
	})
	if err != nil {
		return nil, err
	}
	key, err := c.compileGroupBy(raw[0], 40239)
	if err != nil {
		return nil, err
	}
	n, ok := value.WholeInt32(raw[1])
	switch {
	case !value.IsNumber(raw[1]):
		return nil, servererr.NewCode(40241, "The $bucketAuto 'buckets' field must be a numeric value, but found type: %s",
			value.TypeName(raw[1]))
	case !ok:
		return nil, servererr.NewCode(40242,
			"The $bucketAuto 'buckets' field must be representable as a 32-bit integer, but found %s",
			raw[1])
	case n <= 0:
		return nil, servererr.NewCode(40243, "The $bucketAuto 'buckets' field must be greater than 0, but found: %d", n)
	}
	round, err := newGranularity(raw[3])
	if err != nil {
		return nil, err
	}
	out, err := c.compileBucketOutput(raw[2], 40244)
	if err != nil {
		return nil, err
	}
	g := &groupStage{fields: out}
	return blockingStage(
			func(r *execution, in quota.Docs) ([]bson.Raw, error) { return g.autoBuckets(r, in, key, n, round) },
		),
		nil
}

// keyedDocument is a document with its grouping key.
type keyedDocument struct {
	key value.Value
	doc bson.Raw
}

func (g *groupStage) autoBuckets(r *execution, in quota.Docs, key expr.Expression, n int,
	round granularity) ([]bson.Raw, error) {
	ctx := r.newEvaluation()
	held := r.stageMemory(errSortTooLarge)
	all, err := sortedByKey(ctx, in, key, held)
	if err != nil {
		return nil, err
	}
	size := max(int(math.Round(float64(len(all))/float64(n))), 1)
	var out []bson.Raw
	var below value.Value // the previous bucket's upper bound, if bounds are rounded
	for i := 0; i < len(all); {
		end := min(i+size, len(all))
		if len(out) == n-1 {
			end = len(all)
		}
		end, least, most, err := bucketBounds(all, i, end, below, round)
		if err != nil {
			return nil, err
		}
		below = most
		one, err := g.newGroup(ctx, value.Object(document.New(document.Field{Name: "min", Value: least},
			document.Field{Name: "max", Value: most})))
		if err != nil {
			return nil, err
		}
		for ; i < end; i++ {
			ctx.Root = value.Object(all[i].doc)
			if err := g.addDocument(ctx, one, held); err != nil {
				return nil, err
			}
		}
		out = append(out, g.resultDocument(ctx.Meter, one))
	}
	return out, nil
}

func sortedByKey(
	ctx *expr.Evaluation, in quota.Docs, key expr.Expression, held *quota.Memory,
) ([]keyedDocument, error) {
	var all []keyedDocument
	for doc, err := range in {
		if err != nil {
			return nil, err
		}
		ctx.Root = value.Object(doc)
		v, err := key.Eval(ctx)
		if err != nil {
			return nil, err
		}
		if err := held.Hold(len(doc) + len(v.Value) + 2*quota.ItemOverheadBytes); err != nil {
			return nil, err
		}
		all = append(all, keyedDocument{expr.OrNull(v), doc})
	}
	quota.SortStable(ctx.Meter, all, func(a, b keyedDocument) int { return value.Compare(a.key, b.key) })
	return all, nil
}

// bucketBounds returns the bounds of the bucket that begins at index i, and its end. The bucket includes
// all documents below its rounded upper bound.
func bucketBounds(all []keyedDocument, i, end int, below value.Value,
	round granularity) (last int, lower, upper value.Value, err error) {
	if round == nil {
		for end < len(all) && value.Compare(all[end].key, all[end-1].key) == 0 {
			end++
		}
		upper = all[len(all)-1].key
		if end < len(all) {
			upper = all[end].key
		}
		return end, all[i].key, upper, nil
	}
	if lower = below; value.IsMissing(below) {
		if lower, err = round.roundDown(all[i].key); err != nil {
			return 0, lower, upper, err
		}
	}
	if upper, err = round.roundUp(all[end-1].key); err != nil {
		return 0, lower, upper, err
	}
	for end < len(all) && value.Compare(upper, all[end].key) > 0 {
		end++
	}
	if end < len(all) && value.ToDouble(upper) == 0 {
		upper, err = round.roundDown(all[end].key)
	}
	return end, lower, upper, err
}
