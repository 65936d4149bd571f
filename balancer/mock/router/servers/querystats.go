package servers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/querystats"
	"shardsh/balancer/mongoerr"
)

// The parameters that select the queries for query statistics.
const (
	queryStatsRate  = "internalQueryStatsRateLimit"
	queryStatsShare = "internalQueryStatsSampleRate"
)

// RecordQuery records an answered query if the sampling rate selects it. The cluster's lock is held.
func RecordQuery(cmd *call.Command, c *call.Call, reply bson.D, err error, took time.Duration) {
	if c.Node.Member != nil || err != nil {
		return
	}
	stats, now := &c.Node.QueryStats, c.Cluster.Now()
	switch cmd.Name {
	case "find", "aggregate", "distinct":
		rate := querystats.Rate{
			PerSecond: int64(c.Node.Parameters[queryStatsRate].Value.(int32)),
			Share:     c.Node.Parameters[queryStatsShare].Value.(float64),
		}
		if rate.IsOff() {
			return
		}
		returned, cursor := countBatch(reply)
		stats.Record(querystats.Query{Database: c.DB, Command: cmd.Name, Body: c.Body.Raw, Client: c.Conn.Metadata,
			Returned: returned, Took: took, Cursor: cursor}, rate, now)
	case "getMore":
		returned, cursor := countBatch(reply)
		of, _ := c.Body.Lookup("getMore").AsInt64OK()
		stats.AddBatch(of, cursor, returned, took, now)
	case "killCursors":
		var ids []int64
		list, _ := c.Body.Lookup("cursors").ArrayOK()
		values, _ := list.Values()
		for _, v := range values {
			id, _ := v.AsInt64OK()
			ids = append(ids, id)
		}
		stats.EndCursors(ids, now)
	}
}

// countBatch returns the number of documents or values in a reply, and the cursor id.
func countBatch(reply bson.D) (n, cursor int64) {
	for _, f := range reply {
		switch f.Key {
		case "values":
			return lengthOf(f.Value), 0
		case "cursor":
			inner, _ := f.Value.(bson.D)
			for _, f := range inner {
				switch f.Key {
				case "firstBatch", "nextBatch":
					n = lengthOf(f.Value)
				case "id":
					cursor, _ = f.Value.(int64)
				}
			}
		}
	}
	return n, cursor
}

func lengthOf(list any) int64 {
	switch list := list.(type) {
	case bson.A:
		return int64(len(list))
	case []bson.Raw:
		return int64(len(list))
	case []bson.D:
		return int64(len(list))
	}
	return 0
}

// queryStatsStage generates the documents of $queryStats: the statistics of this router.
func queryStatsStage(c *call.Call, _ string, spec bson.RawValue) ([]bson.Raw, error) {
	rename, err := readRename(spec)
	if err != nil || c.Node.Member != nil { // the mock's members record no queries
		return nil, err
	}
	docs := c.Node.QueryStats.Documents(c.Cluster.Now(), rename, c.Node.Release().SamplesQueryStats())
	return call.MarshalAll(docs)
}

// readRename reads how names are transformed; nil if they stay unchanged.
func readRename(spec bson.RawValue) (querystats.RenameFunc, error) {
	const algorithm = "hmac-sha-256"
	doc, isDoc := spec.DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$queryStats value must be an object. Found: %s",
			args.TypeName(spec.Type))
	}
	fields := []args.Field{args.Optional("transformIdentifiers", args.Object)}
	if err := args.Check("$queryStats", fields, doc); err != nil {
		return nil, err
	}
	how, given := doc.Lookup("transformIdentifiers").DocumentOK()
	if !given {
		return nil, nil
	}
	if err := args.Check("$queryStats.transformIdentifiers", []args.Field{
		args.Required("algorithm", args.String).OneOf(algorithm), args.Optional("hmacKey", args.Any),
	}, how); err != nil {
		return nil, err
	}
	_, key, isBinary := how.Lookup("hmacKey").BinaryOK()
	if !isBinary {
		return nil, mongoerr.New(mongoerr.FailedToParse,
			"The 'hmacKey' parameter of the $queryStats stage must be specified when applying the %s algorithm", algorithm)
	}
	return func(name string) string {
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte(name)) // never fails
		return base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}, nil
}
