package wire

import "bytes"

const (
	// maxEvent bounds the data held of one event. A larger one is counted as unread.
	maxEvent = 8 << 20
	// peekWindow is how much of an event's data is looked at to tell its type without parsing.
	peekWindow = 160
	// maxField bounds the name of a field: the only one that matters has four letters.
	maxField = 128
)

// event is one event of a stream of server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation).
type event struct {
	// data is valid until the callback returns; nil when the event was skipped or too large. Its
	// member `type` says what the event is; the `event:` line says the same and is not looked at.
	data []byte
	// skipped: the splitter was told not to hold it. large: its data is over the limit.
	skipped, large bool
}

// splitter cuts a byte stream into events, whatever the chunks it comes in: lines end with CR LF,
// LF or CR, a byte-order mark at the start is dropped, several `data:` lines are joined by
// newlines, an event without an empty line behind it is none. It holds one event of at most limit
// bytes of data; limit is over peekWindow.
type splitter struct {
	limit int
	// skip tells by its type whether an event's data need not be held; nil holds all.
	skip func(kind []byte) bool
	emit func(event)

	line    []byte // what came of the current line, when it goes on in the next chunk
	ignore  bool   // the rest of the current line does not matter
	sawCR   bool   // a LF next ends the same line
	started int    // bytes seen of a possible byte-order mark; -1 behind it

	cur     event
	hasData bool
	held    []byte
	peeked  bool
}

// Write takes the next bytes of the stream. It never fails.
func (s *splitter) Write(p []byte) (int, error) {
	n := len(p)
	p = s.dropMark(p)
	for len(p) > 0 {
		if s.sawCR {
			s.sawCR = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		end := lineEnd(p)
		if end < 0 {
			s.fragment(p)
			break
		}
		s.sawCR = p[end] == '\r'
		s.endLine(p[:end])
		p = p[end+1:]
	}
	return n, nil
}

// lineEnd returns the index of the first CR or LF. Two searches for one byte each are many times
// faster than one for either, and the second only looks at one line.
func lineEnd(p []byte) int {
	lf := bytes.IndexByte(p, '\n')
	line := p
	if lf >= 0 {
		line = p[:lf]
	}
	if cr := bytes.IndexByte(line, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// dropMark removes a UTF-8 byte-order mark at the start of the stream.
func (s *splitter) dropMark(p []byte) []byte {
	const mark = "\xEF\xBB\xBF"
	for s.started >= 0 && len(p) > 0 {
		if p[0] == mark[s.started] {
			s.started++
			p = p[1:]
			if s.started == len(mark) {
				s.started = -1
			}
			continue
		}
		// Not a mark after all: what looked like one is the stream's first bytes.
		p = append([]byte(mark[:s.started]), p...)
		s.started = -1
	}
	return p
}

// fragment takes a part of a line that goes on.
func (s *splitter) fragment(p []byte) {
	if s.ignore {
		return
	}
	s.line = append(s.line, p...)
	value, isData, complete := cutData(s.line)
	if !complete && len(s.line) <= maxField {
		return
	}
	if !isData {
		s.drop()
		return
	}
	s.dataStarts(value, false)
	if s.cur.skipped || s.cur.large || len(s.held)+len(value) > s.limit {
		s.cur.large = !s.cur.skipped
		s.drop()
	}
}

// drop forgets the current line and what follows of it.
func (s *splitter) drop() {
	s.line = reuse(s.line)
	s.ignore = true
}

func (s *splitter) endLine(p []byte) {
	if s.ignore {
		s.ignore = false
		return
	}
	if len(s.line) > 0 {
		s.line = append(s.line, p...)
		p = s.line
		s.line = s.line[:0]
	}
	if len(p) == 0 {
		s.dispatch()
		return
	}
	if value, isData, _ := cutData(p); isData {
		s.dataStarts(value, true)
		s.addData(value)
	}
}

// dataStarts looks at an event's first line of data, of which value may be only the start, and
// decides whether the event is held.
func (s *splitter) dataStarts(value []byte, whole bool) {
	if s.peeked || !whole && len(value) < peekWindow {
		return
	}
	s.peeked, s.hasData = true, true
	if s.skip == nil {
		return
	}
	kind := peekType(value[:min(len(value), peekWindow)])
	s.cur.skipped = kind != nil && s.skip(kind)
}

func (s *splitter) addData(value []byte) {
	if s.cur.skipped || s.cur.large {
		return
	}
	if len(s.held)+len(value) > s.limit {
		s.cur.large = true
		return
	}
	s.held = append(append(s.held, value...), '\n')
}

func (s *splitter) dispatch() {
	if s.hasData {
		if !s.cur.skipped && !s.cur.large {
			s.cur.data = bytes.TrimSuffix(s.held, []byte("\n"))
		}
		s.emit(s.cur)
	}
	s.cur, s.hasData, s.peeked = event{}, false, false
	s.held, s.line = reuse(s.held), reuse(s.line)
}

// reuse empties b, and lets go of one that a single large event has grown.
func reuse(b []byte) []byte {
	if cap(b) > 256<<10 {
		return nil
	}
	return b[:0]
}

// cutData returns what a line of data says; complete says that the line's field is known.
func cutData(line []byte) (value []byte, isData, complete bool) {
	name, value, complete := bytes.Cut(line, []byte(":"))
	if string(name) != "data" {
		return nil, false, complete
	}
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return value, true, complete
}

// peekType returns the string member `type` when data starts with it, as every event of the
// interface does, nil otherwise.
func peekType(data []byte) []byte {
	rest, ok := bytes.CutPrefix(data, []byte(`{"type":"`))
	if !ok {
		rest = data
		for _, want := range []string{"{", `"type"`, ":", `"`} {
			rest = bytes.TrimLeft(rest, " \t")
			if rest, ok = bytes.CutPrefix(rest, []byte(want)); !ok {
				return nil
			}
		}
	}
	end := bytes.IndexByte(rest, '"')
	if end <= 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return nil
	}
	return rest[:end]
}
