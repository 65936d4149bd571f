package mock_test

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"
)

// attempt runs a command that must succeed unless the cluster has been made to
// fail; then it may be refused with the code of the fault, and must have
// changed nothing.
func (m *model) attempt(t *rapid.T, db string, command bson.D) (reply bson.Raw, ok bool) {
	reply, ok = m.run(db, command)
	if ok {
		return reply, true
	}
	code, _ := reply.Lookup("code").AsInt64OK()
	if first, isWrite := reply.Lookup("writeErrors", "0", "code").AsInt64OK(); isWrite {
		code = first
	}
	if !m.faulty || code != hostUnreachable {
		t.Fatalf("%s answered %s\nafter %q", command[0].Key, reply, m.log)
	}
	return reply, false
}

// faults of nodes and of the network. Everything ends at the next quiet point.
func (m *model) faults() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"crash":   func(t *rapid.T) { m.fault(d("mockCrash", m.node(t))) },
		"restart": func(t *rapid.T) { m.fault(d("mockRestart", m.node(t))) },
		"partition": func(t *rapid.T) {
			nodes := []string{m.node(t), rapid.SampledFrom([]string{m.node(t), "router"}).Draw(t, "other")}
			m.fault(d("mockPartition", nodes))
		},
		"heal": func(t *rapid.T) { m.fault(d("mockHeal", m.node(t))) },
		"slow": func(t *rapid.T) {
			m.fault(d("mockSlow", m.node(t), "latency", rapid.IntRange(0, 2000).Draw(t, "ms"),
				"bandwidth", rapid.SampledFrom([]string{"50KB", "1MB", "1GB"}).Draw(t, "bandwidth")))
		},
		"fail next": func(t *rapid.T) {
			command := d("mockFailNext", rapid.SampledFrom([]string{"insert", "update", "delete", "drop", "moveRange",
				"split"}).Draw(t, "command"),
				"code", hostUnreachable, "after", rapid.IntRange(0, 2).Draw(t, "after"), "times", rapid.IntRange(1, 2).Draw(t,
					"times"))
			if rapid.Bool().Draw(t, "on a shard") {
				command = append(command, d("shard", m.shard(t))...)
			}
			m.fault(command)
		},
		"step down": func(*rapid.T) { m.fault(d("mockStepDown", 1)) },
		"mend":      m.mend,
		"read":      m.read,
	}
}

func (m *model) fault(command bson.D) {
	if _, ok := m.run("admin", command); ok {
		m.faulty = true
	}
}

// node is a shard, or sometimes the config server.
func (m *model) node(t *rapid.T) string {
	if n := rapid.IntRange(0, m.shards).Draw(t, "node"); n < m.shards {
		return fmt.Sprintf("shard%d", n)
	}
	return "config"
}

// mend makes the cluster sound again.
func (m *model) mend(t *rapid.T) {
	m.must(t, "admin", d("mockRestart", 1))
	m.must(t, "admin", d("mockHeal", 1))
	m.faulty = false
}

// read counts through the router: all of it or nothing.
func (m *model) read(t *rapid.T) {
	name := anyNamespace(t)
	db, coll := split(name)
	reply, ok := m.attempt(t, db, d("count", coll, "query", d("_id", d("$gte", 0))))
	if n, _ := reply.Lookup("n").AsInt64OK(); ok && int(n) != len(*m.colls[name]) {
		t.Fatalf("%s: a count shows %d, %d were acknowledged\nafter %q", name, n, len(*m.colls[name]), m.log)
	}
}
