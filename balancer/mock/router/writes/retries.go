package writes

import (
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// statementIDs are the ids of a retryable command's statements, and of those that were executed before.
type statementIDs struct {
	write   *call.RetryableWrite // nil unless the command is retryable
	first   int32
	ids     []int32 // nil stands for first, first+1, …
	retried map[int32]bool
}

// beginRetryable sets the session's retryable write to the command's txnNumber. It rejects a txnNumber
// lower than the newest with TransactionTooOld.
func beginRetryable(c *call.Call, statements int) (*statementIDs, error) {
	s := &statementIDs{}
	if err := readStatementIDs(c, s, statements); err != nil {
		return nil, err
	}
	if c.TxnNumber == nil {
		return s, nil
	}
	newest := c.Session.LastWrite
	switch {
	case newest == nil || newest.Number < *c.TxnNumber:
		newest = &call.RetryableWrite{Number: *c.TxnNumber, Outcomes: make(map[int32]*call.Outcome, statements)}
		c.Session.LastWrite = newest
	case newest.Number > *c.TxnNumber:
		return nil, mongoerr.New(mongoerr.TransactionTooOld,
			"Retryable write with txnNumber %d is prohibited on session %s because a newer retryable write with txnNumber %d "+
				"has already started on this session.",
			*c.TxnNumber, c.Body.Lookup("lsid"), newest.Number)
	}
	s.write = newest
	return s, nil
}

func readStatementIDs(c *call.Call, s *statementIDs, statements int) error {
	if v := c.Body.Lookup("stmtId"); !v.IsZero() {
		n, isInt := v.Int32OK()
		if !isInt {
			return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.stmtId' is the wrong type '%s', expected type 'int'",
				c.InvokedAs, args.TypeName(v.Type))
		}
		s.first = n
	}
	v := c.Body.Lookup("stmtIds")
	if v.IsZero() {
		return nil
	}
	array, isArray := v.ArrayOK()
	if !isArray {
		return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.stmtIds' is the wrong type '%s', expected type 'array'",
			c.InvokedAs, args.TypeName(v.Type))
	}
	if !c.Body.Lookup("stmtId").IsZero() {
		return mongoerr.New(mongoerr.InvalidOptions, "May not specify both stmtId and stmtIds in write command")
	}
	values, err := array.Values()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	if len(values) != statements {
		return mongoerr.New(mongoerr.InvalidLength,
			"Number of statement ids must match the number of batch entries. Got %d statement ids but %d operations.",
			len(values), statements)
	}
	for _, v := range values {
		n, isInt := v.Int32OK()
		if !isInt {
			return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.stmtIds' holds a %s, expected type 'int'", c.InvokedAs,
				args.TypeName(v.Type))
		}
		s.ids = append(s.ids, n)
	}
	return nil
}

func (s *statementIDs) id(i int) int32 {
	if s.ids != nil {
		return s.ids[i]
	}
	return s.first + int32(i)
}

// runOnce runs the i-th statement, or returns its result if it was executed before. If the collection
// was rewritten since, it fails, because its new shards do not have the results of the old ones.
func (s *statementIDs) runOnce(
	c *call.Call,
	i int,
	ns string,
	run func() (*call.Outcome, error),
) (*call.Outcome, error) {
	if s.write == nil {
		return run()
	}
	id := s.id(i)
	if before, done := s.write.Outcomes[id]; done {
		if before.CollectionRewriteCount != c.Cluster.Reshardings().RewriteCount(ns) {
			return nil, mongoerr.New(mongoerr.IncompleteTransactionHistory,
				"Incomplete history detected for transaction %d on session %s", s.write.Number, c.Body.Lookup("lsid"))
		}
		if s.retried == nil {
			s.retried = map[int32]bool{}
		}
		s.retried[id] = true
		return before, nil
	}
	result, err := run()
	if err == nil && result.Changed() {
		if n := c.Cluster.Reshardings().RewriteCount(ns); n > 0 {
			own := *result // all inserts share one Outcome
			own.CollectionRewriteCount = n
			result = &own
		}
		s.write.Outcomes[id] = result
		s.write.Unsaved = true
	}
	return result, err
}

// addRetried adds the ids of the statements that were executed before to a reply.
func (s *statementIDs) addRetried(reply bson.D) bson.D {
	if len(s.retried) == 0 {
		return reply
	}
	ids := slices.Sorted(maps.Keys(s.retried))
	return append(reply, bson.E{Key: "retriedStmtIds", Value: document.ListOf(ids)})
}

// checkNotMulti rejects a statement that may affect several documents in a retryable write. The result of a
// lost one could not be reconstructed.
func checkNotMulti(c *call.Call, many bool, what string) error {
	if !many || c.TxnNumber == nil {
		return nil
	}
	return mongoerr.New(mongoerr.InvalidOptions, "Cannot use (or request) retryable writes with %s", what)
}
