package server

import (
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// unacknowledgedText is the driver's error for a transaction with an unacknowledged write concern. The
// driver has already incremented the number by then. It has no exported name for the error.
const unacknowledgedText = "transactions do not support unacknowledged write concerns"

// StartTransaction starts a transaction in a session of this connection. All transactions have to start
// here, because each uses one of the session's numbers.
func (c *Conn) StartTransaction(sess *mongo.Session, opts ...options.Lister[options.TransactionOptions]) error {
	err := sess.StartTransaction(opts...)
	if err == nil || err.Error() == unacknowledgedText {
		c.noteTxnNumber(sess)
	}
	return err
}

// nextTxnNumber returns the transaction number of a session's next write, so that the write can be
// retried; ok is false if the session has none.
//
// Writes and transactions of a session share their numbers, and the number of a transaction is private
// to the driver. The driver increments it when a transaction starts; a transaction that is aborted
// before its first command reaches no server.
func (c *Conn) nextTxnNumber(sess *mongo.Session) (number int64, ok bool) {
	if sess.TransactionRunning() {
		return 0, false
	}
	if c.StartTransaction(sess, options.Transaction().SetWriteConcern(writeconcern.Majority())) != nil {
		return 0, false // a snapshot session has no writes
	}
	_ = sess.AbortTransaction(c.gateway.JS.Context()) // sends nothing, because the transaction has just been started
	return c.txnNumbers[sessionKey(sess)], true
}

// noteTxnNumber records that a session has used a number. The driver reuses the ids of ended sessions,
// and continues their numbers.
func (c *Conn) noteTxnNumber(sess *mongo.Session) {
	if c.txnNumbers == nil {
		c.txnNumbers = make(map[string]int64)
	}
	c.txnNumbers[sessionKey(sess)]++
}

func sessionKey(sess *mongo.Session) string { return string(sess.ID()) }
