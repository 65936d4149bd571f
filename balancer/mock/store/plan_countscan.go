package store

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
)

// Stages that skip index keys because they need no documents.

// CountScan returns the COUNT_SCAN stage of a count if one range of an index answers the whole query.
// Otherwise it returns false.
func (p *Plan) CountScan(ran RunStats) (*Stage, bool) {
	if p.index == nil || p.branches != nil || p.index.IsMultikey() || len(p.clauses) == 0 || p.residualFilter() != nil {
		return nil, false
	}
	low, high := bson.D{}, bson.D{}
	lowIn, highIn := true, true
	for i, f := range p.index.fields {
		if len(p.bounds[i]) != 1 || f.hashed || p.index.isDescending(i) ||
			i > 0 && !p.bounds[i-1].isOnePoint() && !p.bounds[i].isUnbounded() {
			return nil, false
		}
		b := p.bounds[i][0]
		low = append(low, bson.E{Key: f.name, Value: b.low.value})
		high = append(high, bson.E{Key: f.name, Value: b.high.value})
		lowIn, highIn = lowIn && b.low.included, highIn && b.high.included
	}
	fields := append(p.index.explainFields(), bson.E{Key: "indexBounds", Value: bson.D{
		{Key: "startKey", Value: low}, {Key: "startKeyInclusive", Value: lowIn},
		{Key: "endKey", Value: high}, {Key: "endKeyInclusive", Value: highIn},
	}})
	return &Stage{Name: "COUNT_SCAN", Fields: fields, Returned: ran.Returned, Works: ran.Keys + 1,
		Counters: bson.D{{Key: "keysExamined", Value: document.SmallestInt(ran.Keys)}}}, true
}

// DistinctScan returns the stages that skip from one distinct value of a field to the next, in an index
// that begins with the field. n is the number of values. It returns false if no such index answers the
// whole query.
func (p *Plan) DistinctScan(field string, n int64) (*Stage, bool) {
	scan := p.scanLedBy(field)
	if scan == nil {
		return nil, false
	}
	shown := scan.indexScan(Counts{Found: n, Keys: n})
	shown.Name, shown.Counters = "DISTINCT_SCAN", bson.D{{Key: "keysExamined", Value: document.SmallestInt(n)}}
	projection, err := bson.Marshal(bson.D{{Key: field, Value: int32(1)}, {Key: "_id", Value: int32(0)}})
	if err != nil {
		return nil, false
	}
	return (&Stage{Name: "PROJECTION_COVERED", Returned: n, Works: shown.Works,
		Fields: bson.D{{Key: "transformBy", Value: bson.Raw(projection)}}}).AddInput(shown), true
}

// scanLedBy returns the scan of an index that begins with a field and answers the query, nil if there is
// none.
func (p *Plan) scanLedBy(field string) *Plan {
	fits := func(scan *Plan) bool {
		first := scan.index.fields[0]
		return first.name == field && !first.hashed && !scan.index.IsMultikey() && scan.residualFilter() == nil
	}
	if p.index != nil && p.branches == nil && fits(p) {
		return p
	}
	if len(p.clauses) > 0 {
		return nil
	}
	for _, ix := range p.coll.indexes {
		scan := &Plan{coll: p.coll, query: p.query, accessPath: p.newAccessPath(ix)}
		if ix.canServe(nil) && fits(scan) {
			return scan
		}
	}
	return nil
}
