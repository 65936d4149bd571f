package mock

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// sourceFailed is how the config server begins what it reports of a donor.
const sourceFailed = "Command request failed on source shard. :: caused by :: "

// Kill ends an operation of a shard that belongs to a migration, as 8.0.10 was seen to:
//
//   - the donor's command: who sent it hears so at once, and the migration goes on,
//   - the donor's worker: the migration ends, unless it is committed,
//   - the recipient's worker: the recipient fails, and with it the migration.
func (ms *Migrations) Kill(id catalog.ShardID, op int32) {
	for m := range ms.underWay {
		switch from := m.req.From == id; {
		case from && op == m.op:
			m.killCommand()
		case from && op == m.op+1:
			m.kill()
		case m.req.To == id && op == m.op+2 && m.cloning && !m.killed:
			m.fail(recipientError("Interrupted: operation was interrupted"))
		}
	}
}

// killCommand has those who wait hear that their command was killed.
func (m *migration) killCommand() {
	waiting := m.done
	m.done = nil
	m.ms.clock.After(0, func() {
		for _, done := range waiting {
			done(mongoerr.New(mongoerr.Interrupted, sourceFailed+"operation was interrupted"))
		}
	})
}

// kill ends the donor's worker. It has to tell the recipient first.
func (m *migration) kill() {
	if m.killed || m.decision != undecided {
		return
	}
	err := mongoerr.New(mongoerr.Interrupted, sourceFailed+"operation was interrupted")
	if m.cloning && len(m.donorTime) == startedClone {
		err = mongoerr.New(mongoerr.Interrupted, sourceFailed+
			"Failed to contact recipient shard to monitor data transfer :: caused by :: operation was interrupted")
	}
	m.killed = true
	m.after(batchTime+m.lag(), func(m *migration) {
		switch {
		case m.over || m.decision != undecided:
		case m.cloning:
			m.fail(err)
		default:
			m.finish(err)
		}
	})
}

// awaitsRecipient reports whether the donor's worker waits for the recipient: once it has
// begun to copy, until it has caught up.
func (m *migration) awaitsRecipient() bool {
	const caughtUp = 5 // of the recipient's
	return m.cloning && len(m.donorTime) == startedClone && len(m.recvTime) < caughtUp
}

// startedClone is the donor's step after which it waits for the recipient.
const startedClone = 3
