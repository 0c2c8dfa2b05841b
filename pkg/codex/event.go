package codex

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// eventMax is the longest event line that is understood, in bytes. A longer one is counted.
const eventMax = 4 << 20

// Event is one line of `codex exec --json`, as far as recibo cares. Unknown types and fields are
// no error: the format is Codex's to extend.
type Event struct {
	Type string `json:"type"`
	Item struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Text     string `json:"text"`
		Message  string `json:"message"`
		Command  string `json:"command"`
		Status   string `json:"status"`
		ExitCode *int   `json:"exit_code"`
	} `json:"item"`
	Usage struct {
		Input     int64 `json:"input_tokens"`
		Cached    int64 `json:"cached_input_tokens"`
		Output    int64 `json:"output_tokens"`
		Reasoning int64 `json:"reasoning_output_tokens"`
	} `json:"usage"`
	// Message stands in "error" events; Error.Message in "turn.failed".
	Message string `json:"message"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Failure returns the text of an event that reports an error, or "".
func (e Event) Failure() string {
	switch {
	case e.Type == "error":
		return e.Message
	case e.Type == "turn.failed":
		return e.Error.Message
	case e.Item.Type == "error":
		return e.Item.Message
	}
	return ""
}

// readEvents hands every event in r to each, and every line as it came to keep. It reads to the
// end whatever the lines hold, and returns how many lines were no event.
func readEvents(r io.Reader, keep io.Writer, each func(Event)) (unread int, err error) {
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		line, long, err := readLine(br, keep)
		if len(line) > 0 || long {
			var e Event
			if long || json.Unmarshal(line, &e) != nil {
				unread++
			} else {
				each(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return unread, nil
		}
		if err != nil {
			return unread, err
		}
	}
}

// readLine returns the next line without its end, or long when it is over eventMax. All of its
// bytes go to keep as they come, so a line of any length costs eventMax at most.
func readLine(br *bufio.Reader, keep io.Writer) (line []byte, long bool, err error) {
	for {
		part, err := br.ReadSlice('\n')
		if _, kerr := keep.Write(part); kerr != nil {
			return nil, false, kerr
		}
		if !long {
			line = append(line, part...)
		}
		if len(line) > eventMax {
			line, long = nil, true
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimRight(line, "\r\n"), long, err
	}
}
