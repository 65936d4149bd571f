//go:build unix

package bench

import (
	"encoding/binary"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// cost is what a work took once.
type cost struct {
	wall, cpu time.Duration
	memory    int64 // bytes at their most; 0 where that was not looked at
}

// timed measures what a function of this process takes, in all threads.
func timed(f func()) cost {
	began, before := time.Now(), cpuTime()
	f()
	return cost{wall: time.Since(began), cpu: cpuTime() - before}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return cpuOf(&u)
}

func cpuOf(u *syscall.Rusage) time.Duration {
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// packedPass measures the pass: 400,000 small documents are packed one behind the
// other, as BSON has them, read again, and counted by their text. What other works
// have left to collect is collected before.
func packedPass(b *testing.B) time.Duration {
	b.Helper()
	runtime.GC()
	const documents = 400_000
	names := [4]string{"north", "south", "east", "west"}
	return timed(func() {
		var packed []byte
		for i := range documents {
			start := len(packed)
			packed = append(packed, 0, 0, 0, 0, 0x12, 'n', 0)
			packed = binary.LittleEndian.AppendUint64(packed, uint64(i)*0x9e3779b97f4a7c15)
			name := names[i%len(names)]
			packed = append(packed, 0x02, 's', 0)
			packed = binary.LittleEndian.AppendUint32(packed, uint32(len(name)+1))
			packed = append(append(packed, name...), 0, 0)
			binary.LittleEndian.PutUint32(packed[start:], uint32(len(packed)-start))
		}
		counts, sum := map[string]int{}, uint64(0)
		for rest := packed; len(rest) > 0; {
			doc := rest[:binary.LittleEndian.Uint32(rest)]
			sum += binary.LittleEndian.Uint64(doc[7:])
			counts[string(doc[22:len(doc)-2])]++
			rest = rest[len(doc):]
		}
		if counts["west"] != documents/len(names) || sum == 0 {
			b.Fatal("the pass has lost documents")
		}
	}).cpu
}
