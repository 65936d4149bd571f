package policy

import "math"

// transport is a minimum-cost flow: goods from node 0 to node 1 over edges of
// limited capacity. It is what the lower bounds of convergence_test.go are
// computed with.
type transport struct {
	edges []transportEdge // an edge and its reverse follow each other
	out   [][]int         // node -> edges
}

type transportEdge struct {
	to   int
	room int64
	cost int64
}

const (
	source = 0
	sink   = 1
)

func newTransport(nodes int) *transport { return &transport{out: make([][]int, nodes)} }

// edge adds one, with room for so much at this cost a unit.
func (t *transport) edge(from, to int, room, cost int64) {
	t.out[from] = append(t.out[from], len(t.edges))
	t.out[to] = append(t.out[to], len(t.edges)+1)
	t.edges = append(t.edges, transportEdge{to: to, room: room, cost: cost}, transportEdge{to: from, cost: -cost})
}

// send moves as much as there is room for, at the least cost.
func (t *transport) send() (sent, cost int64) {
	for {
		via, room := t.cheapestWay()
		if room == 0 {
			return sent, cost
		}
		for node := sink; node != source; {
			e := via[node]
			t.edges[e].room -= room
			t.edges[e^1].room += room
			cost += room * t.edges[e].cost
			node = t.edges[e^1].to
		}
		sent += room
	}
}

// cheapestWay is the edge by which the cheapest way reaches each node, and the
// room on the way to the sink; 0 when there is none (Bellman and Ford).
func (t *transport) cheapestWay() (via []int, room int64) {
	far := make([]int64, len(t.out))
	via = make([]int, len(t.out))
	queued := make([]bool, len(t.out))
	for i := range far {
		far[i], via[i] = math.MaxInt64, -1
	}
	far[source] = 0
	queue := []int{source}
	for len(queue) > 0 {
		node := queue[0]
		queue, queued[node] = queue[1:], false
		for _, e := range t.out[node] {
			edge := t.edges[e]
			if edge.room > 0 && far[node]+edge.cost < far[edge.to] {
				far[edge.to], via[edge.to] = far[node]+edge.cost, e
				if !queued[edge.to] {
					queue, queued[edge.to] = append(queue, edge.to), true
				}
			}
		}
	}
	if via[sink] < 0 {
		return nil, 0
	}
	room = math.MaxInt64
	for node := sink; node != source; node = t.edges[via[node]^1].to {
		room = min(room, t.edges[via[node]].room)
	}
	return via, room
}
