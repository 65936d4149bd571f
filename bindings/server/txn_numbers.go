package server

import (
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// unacknowledgedText is the driver's error for a transaction whose writes nobody
// confirms. It has counted by then. The driver has no public name for it.
const unacknowledgedText = "transactions do not support unacknowledged write concerns"

// StartTransaction starts a transaction in a session of this connection. All
// transactions start here: each takes one of the session's numbers.
func (m *Conn) StartTransaction(sess *mongo.Session, opts ...options.Lister[options.TransactionOptions]) error {
	err := sess.StartTransaction(opts...)
	if err == nil || err.Error() == unacknowledgedText {
		m.noteTxnNumber(sess)
	}
	return err
}

// nextTxnNumber returns the number under which a session's next write goes out, so
// that it can be sent again; ok is false where a session has none to give.
//
// Writes and transactions of a session share their numbers, and those of
// transactions are private to the driver. It increments when a transaction
// starts; one that is given up before its first command reaches no server.
func (m *Conn) nextTxnNumber(sess *mongo.Session) (number int64, ok bool) {
	if sess.TransactionRunning() {
		return 0, false
	}
	if m.StartTransaction(sess, options.Transaction().SetWriteConcern(writeconcern.Majority())) != nil {
		return 0, false // a session of snapshots has no writes
	}
	_ = sess.AbortTransaction(m.gateway.JS.Context()) // sends nothing, and has just been started
	return m.txnNumbers[sessionKey(sess)], true
}

// noteTxnNumber records that a session has used a number. The driver hands the ids of
// sessions that ended out again, and goes on counting.
func (m *Conn) noteTxnNumber(sess *mongo.Session) {
	if m.txnNumbers == nil {
		m.txnNumbers = make(map[string]int64)
	}
	m.txnNumbers[sessionKey(sess)]++
}

func sessionKey(sess *mongo.Session) string { return string(sess.ID()) }
