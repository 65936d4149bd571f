package values

// spare is the memory that one value after the other is written in.
type spare struct {
	room    []byte   // to write a text in; nil while that is under way
	encoder *encoder // to make a document with; likewise
	slab    []byte   // what documents are copied to; full ones belong to them alone
}

const (
	// mostRoom is how large a buffer is kept for the next value.
	mostRoom = 64 << 10
	// slabSize is how much memory documents share: one that a script keeps holds on
	// to so much, rather than to a batch.
	slabSize = 16 << 10
)

// takeRoom returns an empty buffer, of which there is one: what is written may run a
// script that has something else written.
func (s *spare) takeRoom() []byte {
	room := s.room
	s.room = nil
	return room[:0]
}

// giveRoom returns a buffer of which nothing is needed any more.
func (s *spare) giveRoom(room []byte) {
	if cap(room) <= mostRoom {
		s.room = room
	}
}

// takeEncoder returns an empty encoder of w, of which there is one, as of buffers.
func (s *spare) takeEncoder(w *World) *encoder {
	e := s.encoder
	if e == nil {
		return &encoder{w: w}
	}
	s.encoder = nil
	return e
}

// giveEncoder returns an encoder of which nothing is needed any more. It holds on to
// none of the objects it has seen.
func (s *spare) giveEncoder(e *encoder) {
	if cap(e.buf) <= mostRoom {
		*e = encoder{w: e.w, buf: e.buf[:0]}
		s.encoder = e
	}
}

// keep copies a document.
func (s *spare) keep(d []byte) []byte {
	if len(d) > slabSize/8 {
		return append([]byte(nil), d...)
	}
	if len(d) > cap(s.slab)-len(s.slab) {
		s.slab = make([]byte, 0, slabSize)
	}
	start := len(s.slab)
	s.slab = append(s.slab, d...)
	return s.slab[start:len(s.slab):len(s.slab)]
}
