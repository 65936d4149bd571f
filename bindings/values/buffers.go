package values

// reusableBuffers are buffers that are reused for the next value.
type reusableBuffers struct {
	text    []byte   // to write a text in; nil while that is under way
	encoder *encoder // to make a document with; likewise
	slab    []byte   // what documents are copied to; full ones belong to them alone
}

const (
	// maxKeptBuffer is the size of the largest buffer that is kept for the next value.
	maxKeptBuffer = 64 << 10
	// slabSize is how much memory documents share: one that a script keeps holds on
	// to so much, rather than to a batch.
	slabSize = 16 << 10
)

// takeBuffer returns the empty buffer. It is taken while in use: writing may run a script
// that writes something else.
func (s *reusableBuffers) takeBuffer() []byte {
	text := s.text
	s.text = nil
	return text[:0]
}

// giveBuffer gives a buffer back.
func (s *reusableBuffers) giveBuffer(text []byte) {
	if cap(text) <= maxKeptBuffer {
		s.text = text
	}
}

// takeEncoder returns the empty encoder of w, as takeBuffer does.
func (s *reusableBuffers) takeEncoder(w *Realm) *encoder {
	e := s.encoder
	if e == nil {
		return &encoder{w: w}
	}
	s.encoder = nil
	return e
}

// giveEncoder gives an encoder back. It keeps none of the objects that it has seen.
func (s *reusableBuffers) giveEncoder(e *encoder) {
	if cap(e.buf) <= maxKeptBuffer {
		*e = encoder{w: e.w, buf: e.buf[:0]}
		s.encoder = e
	}
}

// copyToSlab copies a document.
func (s *reusableBuffers) copyToSlab(d []byte) []byte {
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
