package mock

import (
	"net"
	"strings"
	"testing"

	"shardsh/balancer/catalog"
)

// Hosts that the mock makes up are nobody's: not those that a topology gives, not
// the config server's, not those of shards that come later or were removed, and
// no address of this machine.
func TestMadeUpHostsNeverCollide(t *testing.T) {
	topology := &Topology{Shards: []TopologyShard{
		{ID: "a"}, {ID: "b", Host: "rs1/" + mockHostname + ":27022,there:1"}, {ID: "c"}, {ID: "d", Host: "rs0/there:2"}, {ID: "e"},
	}}
	c, err := New(Config{Topology: topology})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.SetListenAddresses(map[catalog.ShardID]string{"c": "127.0.0.1:27020"}); err != nil {
		t.Fatal(err)
	}
	c.clock.Lock()
	defer c.clock.Unlock()
	c.membership.removed["rs7/"+mockHostname+":27026"] = newShard("gone")
	for range 4 {
		if _, err := c.ShardMembership().AddEmpty(ShardSpec{}); err != nil {
			t.Fatal(err)
		}
	}
	owner := map[string]string{"rs7": "gone", mockHostname + ":27026": "gone"}
	note := func(id, connection string) {
		set, members, _ := strings.Cut(connection, "/")
		for _, part := range append(strings.Split(members, ","), set) {
			if other, taken := owner[part]; taken {
				t.Errorf("%s of %s is that of %s, too", part, id, other)
			}
			owner[part] = id
		}
	}
	note("config", c.Addresses().ConfigServer())
	for _, id := range c.ShardIDs() {
		host := c.Addresses().HostOf(id)
		note(string(id), host)
		if strings.Contains(host, "there") || id == "c" {
			continue
		}
		_, member, _ := strings.Cut(host, "/")
		name, _, err := net.SplitHostPort(member)
		if err != nil || name != mockHostname || net.ParseIP(name) != nil {
			t.Errorf("%s is at %s, which might be somewhere", id, host)
		}
	}
}

// A topology that gives two shards one host is refused, and names both.
func TestTopologyRefusesHostsTwice(t *testing.T) {
	for _, hosts := range [][2]string{{"a/h:1", "b/h:1"}, {"a/h:1", "a/h:2"}, {"a/h:1,h:2", "b/h:3,h:2"}} {
		c, err := New(Config{Topology: &Topology{Shards: []TopologyShard{{ID: "x", Host: hosts[0]}, {ID: "y", Host: hosts[1]}}}})
		if err == nil {
			c.Close()
			t.Errorf("%v are taken", hosts)
		} else if !strings.Contains(err.Error(), "shards[1].host") || !strings.Contains(err.Error(), hosts[0]) {
			t.Errorf("%v: %v", hosts, err)
		}
	}
}

func TestTopologyRefusesWhatFollows(t *testing.T) {
	for _, after := range []string{"}", "]", "{}", "x"} {
		if _, err := ParseTopology([]byte(`{"shards": [{"id": "a"}]}` + after)); err == nil {
			t.Errorf("%s is taken after a topology", after)
		}
	}
	if _, err := ParseTopology([]byte(`{"shards": [{"id": "a"}]}` + "\n")); err != nil {
		t.Error(err)
	}
}
