package store

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// bucketAuto divides the documents into groups of about the same size; equal
// values stay together.
func (c *pipelineCompiler) bucketAuto(name string, arg value) (stage, error) {
	raw, err := namedValues(name, arg, namedSpec{
		args: []string{"groupBy", "buckets", "output", "granularity"}, notObject: 40240, unknown: 40245,
		missing: []int32{40246, 40246},
	})
	if err != nil {
		return nil, err
	}
	key, err := c.groupByOf(raw[0], 40239)
	if err != nil {
		return nil, err
	}
	n, ok := wholeInt32(raw[1])
	switch {
	case !isNumber(raw[1]):
		return nil, fail(40241, "The $bucketAuto 'buckets' field must be a numeric value, but found type: %s",
			typeName(raw[1]))
	case !ok:
		return nil, fail(40242, "The $bucketAuto 'buckets' field must be representable as a 32-bit integer, but found %s",
			raw[1])
	case n <= 0:
		return nil, fail(40243, "The $bucketAuto 'buckets' field must be greater than 0, but found: %d", n)
	}
	round, err := newGranularity(raw[3])
	if err != nil {
		return nil, err
	}
	out, err := c.bucketOutput(raw[2], 40244)
	if err != nil {
		return nil, err
	}
	g := &groupStage{fields: out}
	return blocking(func(r *execution, in docs) ([]bson.Raw, error) { return g.autoBuckets(r, in, key, n, round) }), nil
}

// keyedDocument is a document with what it is grouped by.
type keyedDocument struct {
	key value
	doc bson.Raw
}

func (g *groupStage) autoBuckets(r *execution, in docs, key expression, n int, round granularity) ([]bson.Raw, error) {
	ctx := r.evaluation()
	held := r.spilling(sortTooLarge)
	all, err := sortedByKey(ctx, in, key, held)
	if err != nil {
		return nil, err
	}
	size := max(int(math.Round(float64(len(all))/float64(n))), 1)
	var out []bson.Raw
	var below value // the upper bound of the bucket before, where bounds are rounded
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
		one, err := g.start(ctx, objectValue(documentOf(field{"min", least}, field{"max", most})))
		if err != nil {
			return nil, err
		}
		for ; i < end; i++ {
			ctx.root = objectValue(all[i].doc)
			if err := g.add(ctx, one, held); err != nil {
				return nil, err
			}
		}
		out = append(out, g.document(ctx.work, one))
	}
	return out, nil
}

func sortedByKey(ctx *evaluation, in docs, key expression, held *memory) ([]keyedDocument, error) {
	var all []keyedDocument
	for doc, err := range in {
		if err != nil {
			return nil, err
		}
		ctx.root = objectValue(doc)
		v, err := key.eval(ctx)
		if err != nil {
			return nil, err
		}
		if err := held.keep(len(doc) + len(v.Value) + 2*itemBytes); err != nil {
			return nil, err
		}
		all = append(all, keyedDocument{orNull(v), doc})
	}
	sortStable(ctx.work, all, func(a, b keyedDocument) int { return compare(a.key, b.key) })
	return all, nil
}

// bucketBounds returns the bounds of a bucket that begins at i, and its end:
// what belongs below the upper bound comes into it.
func bucketBounds(all []keyedDocument, i, end int, below value,
	round granularity) (last int, least, most value, err error) {
	if round == nil {
		for end < len(all) && compare(all[end].key, all[end-1].key) == 0 {
			end++
		}
		most = all[len(all)-1].key
		if end < len(all) {
			most = all[end].key
		}
		return end, all[i].key, most, nil
	}
	if least = below; isMissing(below) {
		if least, err = round.down(all[i].key); err != nil {
			return 0, least, most, err
		}
	}
	if most, err = round.next(all[end-1].key); err != nil {
		return 0, least, most, err
	}
	for end < len(all) && compare(most, all[end].key) > 0 {
		end++
	}
	if end < len(all) && toDouble(most) == 0 {
		most, err = round.down(all[end].key)
	}
	return end, least, most, err
}
