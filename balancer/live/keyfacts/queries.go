package keyfacts

import (
	"context"
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
	"shardsh/balancer/keyadvice"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
)

// maxQueries is the maximum number of sampled queries to read.
const maxQueries = 5000

// readQueries reads the sampled queries, if there are any.
func (r *reading) readQueries(ctx context.Context) error {
	switch {
	case len(r.facts.Queries) > 0:
		r.facts.QueriesFrom = keyadvice.QueriesGiven
		return nil
	case !r.facts.Release.FCVAtLeast(catalog.Release70):
		return nil
	}
	docs, err := live.NewCommandRunner(r.client).RunCursorCommand(ctx, "admin", bson.D{
		{Key: "aggregate", Value: 1}, {Key: "pipeline",
			Value: bson.A{
				bson.D{{Key: "$listSampledQueries", Value: bson.D{{Key: "namespace", Value: r.facts.Namespace}}}},
				bson.D{{Key: "$limit", Value: maxQueries}},
			}}, {Key: "cursor", Value: bson.D{}}, r.maxTimeMS()})
	if err != nil {
		return r.noteRefusal(ctx, "which queries were sampled", err)
	}
	var list []keyadvice.Query
	for _, doc := range docs {
		for _, one := range heat.ParseSampledQuery(doc) {
			q := keyadvice.QueryOf(one.Filter)
			q.Weight = 1
			list = append(list, q)
		}
	}
	if len(list) > 0 {
		r.facts.Queries, r.facts.QueriesFrom = keyadvice.MergeQueries(list), keyadvice.QueriesSampled
	}
	return nil
}

// These constants limit the use of analyzeShardKey.
const (
	maxAnalyzedKeys   = 12
	analyzeSampleDocs = 100_000
)

// analyzeBestKeys runs analyzeShardKey for the keys that are best according to the sample.
func (r *reading) analyzeBestKeys(ctx context.Context) error {
	f := &r.facts
	if !f.Release.FCVAtLeast(catalog.Release70) || f.Docs == 0 {
		return nil
	}
	if r.NoAnalyzeReason != "" {
		f.Notes = append(f.Notes, "analyzeShardKey was not run: "+r.NoAnalyzeReason)
		return nil
	}
	keys := r.Keys
	if len(keys) == 0 {
		for _, c := range keyadvice.Rank(*f, keyadvice.Propose(*f)) {
			keys = append(keys, c.Key)
		}
	}
	for _, k := range keys[:min(len(keys), maxAnalyzedKeys)] {
		r.OnRead("measuring " + k.String())
		m, err := r.analyzeKey(ctx, k)
		if mongoerr.Is(live.ServerError(err), mongoerr.BadValue) || mongoerr.Is(live.ServerError(err),
			mongoerr.IllegalOperation) {
			continue // of this key
		}
		if err != nil {
			return r.noteRefusal(ctx, "the answer of analyzeShardKey", err)
		}
		f.Measurements[k.String()] = m
	}
	return nil
}

// analyzeKey runs analyzeShardKey for one key. Key characteristics require a supporting index.
func (r *reading) analyzeKey(ctx context.Context, k keyadvice.ShardKey) (m keyadvice.Measurement, err error) {
	indexed := slices.ContainsFunc(r.facts.Indexes, func(x keyadvice.Index) bool { return x.Serves(k) })
	command := bson.D{{Key: "analyzeShardKey", Value: r.facts.Namespace}, {Key: "key", Value: k.Doc()},
		{Key: "keyCharacteristics", Value: indexed}, r.maxTimeMS()}
	if indexed {
		command = append(command, bson.E{Key: "sampleSize", Value: min(analyzeSampleDocs, r.facts.Docs)})
	}
	reply, err := live.NewCommandRunner(r.client).RunCommand(ctx, "admin", command)
	if err != nil {
		return m, err
	}
	m = parseCharacteristics(reply)
	m.QueryDistribution = parseDistribution(reply)
	return m, nil
}

func parseCharacteristics(reply bson.Raw) keyadvice.Measurement {
	of, _ := reply.Lookup("keyCharacteristics").DocumentOK()
	m := keyadvice.Measurement{
		Docs: integer(of, "numDocsSampled"), Distinct: integer(of, "numDistinctValues"), Unique: isTrue(of, "isUnique"),
		Correlation: math.NaN(),
	}
	if r, ok := of.Lookup("monotonicity", "recordIdCorrelationCoefficient").AsFloat64OK(); ok {
		m.Correlation = r
	}
	list, _ := of.Lookup("mostCommonValues").ArrayOK()
	values, _ := list.Values()
	for _, v := range values {
		common, _ := v.DocumentOK()
		value, _ := common.Lookup("value").DocumentOK()
		m.CommonValues = append(m.CommonValues, keyadvice.CommonValue{Value: value, Count: integer(common, "frequency")})
	}
	return m
}

func integer(doc bson.Raw, path ...string) int64 {
	n, _ := doc.Lookup(path...).AsInt64OK()
	return n
}

// parseDistribution combines the read and write distributions.
func parseDistribution(reply bson.Raw) (d keyadvice.Distribution) {
	var several, ranges float64
	for _, kind := range []string{"Reads", "Writes"} {
		of, _ := reply.Lookup(map[string]string{"Reads": "readDistribution",
			"Writes": "writeDistribution"}[kind]).DocumentOK()
		n := integer(of, "sampleSize", "total")
		share := func(name string) float64 {
			p, _ := of.Lookup(name).AsFloat64OK()
			return p / 100 * float64(n)
		}
		single, some, every := share("percentageOfSingleShard"+kind), share("percentageOfMultiShard"+kind),
			share("percentageOfScatterGather"+kind)
		d.Queries += n
		d.SingleShardShare, d.MultiShardShare, d.ScatterGatherShare = d.SingleShardShare+single, d.MultiShardShare+some,
			d.ScatterGatherShare+every
		if kind == "Writes" && n > 0 {
			d.KeyUpdateShare = share("percentageOfShardKeyUpdates") / float64(n)
		}
		list, _ := of.Lookup("num" + kind + "ByRange").ArrayOK()
		byRange, _ := list.Values()
		var reached float64
		for _, v := range byRange {
			times, _ := v.AsFloat64OK()
			reached += times
		}
		// The rest is the queries that go to several ranges.
		if len(byRange) > 0 {
			ranges += (reached - single - every*float64(len(byRange))) / float64(len(byRange)) * 100
		}
		several += some
	}
	if d.Queries > 0 {
		n := float64(d.Queries)
		d.SingleShardShare, d.MultiShardShare, d.ScatterGatherShare = d.SingleShardShare/n, d.MultiShardShare/n,
			d.ScatterGatherShare/n
	}
	if several > 0 {
		d.RangesPercent = max(0, ranges/several)
	}
	return d
}
