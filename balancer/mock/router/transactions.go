package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// useSession checks the session and transaction fields of a command and marks the session as used.
func (r *Router) useSession(cmd *call.Command, c *call.Call) error {
	if c.LSIDErr != nil {
		return c.LSIDErr
	}
	if c.LSID != nil {
		var err error
		if c.Session, err = r.Sessions.Use(*c.LSID, c.Conn.UserName()); err != nil {
			return err
		}
	}
	if err := refuseTransaction(c); err != nil {
		return err
	}
	v := c.Body.Lookup("txnNumber")
	if v.IsZero() {
		return nil
	}
	n, isLong := v.Int64OK()
	switch {
	case !isLong:
		return mongoerr.New(mongoerr.TypeMismatch,
			"BSON field 'OperationSessionInfo.txnNumber' is the wrong type '%s', expected type 'long'", args.TypeName(v.Type))
	case c.Session == nil:
		return mongoerr.New(mongoerr.InvalidOptions, "Transaction number requires a session ID to also be specified")
	case n < 0:
		return mongoerr.New(mongoerr.InvalidOptions, "Transaction number cannot be negative")
	case !cmd.Retryable:
		return mongoerr.New(mongoerr.NotARetryableWriteCommand,
			"txnNumber may only be provided for multi-document transactions and retryable write commands. "+
				"autocommit:false was not provided, and %s is not a retryable write command.", cmd.Name)
	}
	c.TxnNumber = &n
	return nil
}

// checkOutSession checks out the session of a retryable write. A retry that arrives while the first attempt is
// in progress waits for it and then finds its results.
func (r *Router) checkOutSession(c *call.Call) (release func(), err error) {
	if c.LSID == nil || c.Body.Lookup("txnNumber").IsZero() {
		return func() {}, nil
	}
	return r.Sessions.CheckOut(c.Ctx, *c.LSID)
}

// refuseTransaction rejects transactions: without transaction support, each command would take effect at
// once.
func refuseTransaction(c *call.Call) error {
	autocommit, start := c.Body.Lookup("autocommit"), c.Body.Lookup("startTransaction")
	if autocommit.IsZero() && start.IsZero() {
		return nil
	}
	on, isBool := autocommit.BooleanOK()
	begins, startIsBool := start.BooleanOK()
	switch {
	case autocommit.IsZero():
		return mongoerr.New(mongoerr.InvalidOptions,
			"'startTransaction' field requires 'autocommit' field to also be specified")
	case !isBool:
		return mongoerr.New(mongoerr.TypeMismatch,
			"BSON field 'OperationSessionInfo.autocommit' is the wrong type '%s', expected type 'bool'",
			args.TypeName(autocommit.Type))
	case on:
		return mongoerr.New(mongoerr.InvalidOptions, "Specifying autocommit=true is not allowed.")
	case c.Body.Lookup("txnNumber").IsZero():
		return mongoerr.New(mongoerr.InvalidOptions, "'autocommit' field requires a transaction number to also be specified")
	case !start.IsZero() && (!startIsBool || !begins):
		return mongoerr.New(mongoerr.InvalidOptions, "Specifying startTransaction=false is not allowed.")
	}
	return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "the mock does not support transactions")
}

// checkClusterTime checks the $clusterTime that clients send back. The mock does not use the value,
// because it is the only source of its time.
func checkClusterTime(c *call.Call) error {
	v := c.Body.Lookup("$clusterTime")
	if v.IsZero() {
		return nil
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return mongoerr.New(mongoerr.TypeMismatch,
			"BSON field '$clusterTime' is the wrong type '%s', expected type 'object'", args.TypeName(v.Type))
	}
	if at := doc.Lookup("clusterTime"); at.Type != bson.TypeTimestamp {
		return mongoerr.New(mongoerr.TypeMismatch, "\"clusterTime\" had the wrong type. Expected timestamp, found %s",
			args.TypeName(at.Type))
	}
	return nil
}
