package swarm

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// script is what administrators and faults do in a scenario, as a script for shardsh test, with the rule
// that it breaks where a script can see that. Runs, writers, and what becomes of their commands are comments.
func (s *scenario) script(rule string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Rule: %s. What this script leaves out:\n", rule)
	for _, line := range s.left() {
		fmt.Fprintf(&b, "// %s\n", line)
	}
	fmt.Fprintf(&b, "const topology = %s\nconst things = [\n", s.topology())
	for _, t := range s.Things {
		command, db := t.Command, "admin"
		if before, after, elsewhere := strings.Cut(command, `, "$db": "`); elsewhere {
			command, db = before+"}", strings.TrimSuffix(after, `"}`)
		}
		fmt.Fprintf(&b, "  { at: %d, on: %q, nth: %d, db: %q, command: %s },\n", t.At.Milliseconds(), t.On, t.Nth, db, command)
	}
	fmt.Fprintf(&b, "]\n\ndescribe(\"seed %d\", { topology, serverVersion: %q, seed: %d }, () => {\n", s.Seed, s.Release, s.Seed)
	return b.String() + fmt.Sprintf(scriptBody, rule, s.lasts().Milliseconds())
}

// scriptBody runs things at their times, and looks at what there is then.
const scriptBody = `  it("keeps the rule %s", { everyFault: false }, () => {
    const begin = Date.now(), due = things.filter(t => !t.on).map(t => ({ ...t, time: begin + t.at })), seen = {}
    for (const event of new Set(things.filter(t => t.on).map(t => t.on))) {
      cluster.onMigration(event, () => {
        const n = seen[event] ?? 0
        seen[event] = n + 1
        due.push(...things.filter(t => t.on === event && t.nth === n).map(t => ({ ...t, time: Date.now() + t.at })))
      }, { every: true })
    }
    let stopped = null
    const stops = [], byHand = things.some(t => t.command.moveChunk || t.command.moveRange)
    const send = t => {
      if (t.command.balancerStart && stopped) stops.push([stopped, Date.now()])
      if (t.command.balancerStart) stopped = null
      let reply = {}
      try { reply = db.getSiblingDB(t.db).runCommand(t.command) } catch (e) { print(e.message) }
      if (t.command.balancerStop && reply.ok) stopped ??= Date.now()
    }
    while (Date.now() < begin + %d) {
      due.sort((a, b) => a.time - b.time)
      if (due.length > 0 && due[0].time <= Date.now()) send(due.shift())
      else mock.advance(Math.max(1, Math.min(20, due.length > 0 ? due[0].time - Date.now() : 20)))
    }
    if (stopped) stops.push([stopped, Date.now()])
    mock.heal()
    mock.restart()
    mock.advance("20m")
    const committed = ([from, to]) => db.getSiblingDB("config").changelog
      .find({ what: "moveChunk.commit", time: { $gt: new Date(from), $lt: new Date(to) } }).toArray()
    if (!byHand) expect(stops.flatMap(committed)).toEqual([]) // the balancer had answered that it stands still
    expect(mock.invariants().broken).toEqual([])
    expect(cluster).toBeConsistent()
  })
})
`

// lasts is how long a script looks.
func (s *scenario) lasts() time.Duration {
	last := 2 * time.Minute
	for _, t := range s.Things {
		last = max(last, t.At+2*time.Minute)
	}
	return last
}

// left are lines about what a script leaves out.
func (s *scenario) left() (lines []string) {
	for _, line := range strings.Split(strings.TrimSpace(s.String()), "\n") {
		of := func(t thing) bool { return t.String() == line }
		if !strings.HasPrefix(line, "topology: ") && !slices.ContainsFunc(s.Things, of) {
			lines = append(lines, line)
		}
	}
	return lines
}
