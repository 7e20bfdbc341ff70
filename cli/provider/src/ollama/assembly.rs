//! Lines to text, reasoning, calls, counts and an end.
//!
//! A line is a chunk of the reply; the last one says `done`, why, and how many tokens there were. Calls come
//! whole, before that one, and its reason does not speak of them.

use serde_json::Value;

use crate::MAX_CALLS;
use crate::arguments::{self, Arguments};
use crate::assembly::{BrokeOff, ReportedError, damage, reported};
use crate::framing::Frame;
use crate::reply::Assemble;
use dunlin_chat::provider::{BadArguments, Finish, ProposedCall, ReplyEnd, StreamEvent, Usage};

/// Puts one reply together.
#[derive(Debug, Default)]
pub(super) struct Lines {
    calls: Vec<ProposedCall>,
    thinks_in: Option<&'static str>,
    done_reason: Option<String>,
    damaged: bool,
    overflowed: bool,
}

/// Where reasoning is found: the first is Ollama's own, the others are those of servers that copy it. The first
/// one that had some is kept to.
const REASONING_FIELDS: [&str; 3] = ["thinking", "reasoning_content", "reasoning"];

impl Lines {
    fn chunk(&mut self, chunk: &Value, out: &mut Vec<StreamEvent>) {
        if let Some(message) = chunk.get("message") {
            let text = |field: &str| {
                let text = message
                    .get(field)
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                (!text.is_empty()).then(|| text.to_owned())
            };
            let reasoning = REASONING_FIELDS
                .into_iter()
                .filter(|field| self.thinks_in.is_none_or(|known| known == *field))
                .find_map(|field| Some((field, text(field)?)));
            if let Some((field, text)) = reasoning {
                self.thinks_in = Some(field);
                out.push(StreamEvent::Reasoning { field, text });
            }
            if let Some(text) = text("content") {
                out.push(StreamEvent::Text(text));
            }
            let calls = message.get("tool_calls").and_then(Value::as_array);
            for call in calls.into_iter().flatten() {
                self.call(call, out);
            }
        }
        if chunk.get("done") == Some(&Value::Bool(true)) {
            let reason = chunk.get("done_reason").and_then(Value::as_str);
            self.done_reason = Some(reason.unwrap_or("stop").to_owned());
            count(chunk, out);
        }
    }

    fn call(&mut self, call: &Value, out: &mut Vec<StreamEvent>) {
        if self.calls.len() >= MAX_CALLS {
            self.overflowed = true;
            return;
        }
        let function = call.get("function").unwrap_or(call);
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let tool = text(function.get("name"));
        let mut repaired = false;
        let arguments = match function.get("arguments") {
            Some(Value::Object(arguments)) => Ok(arguments.clone()),
            None | Some(Value::Null) => Ok(serde_json::Map::new()),
            Some(other) => {
                let raw = other
                    .as_str()
                    .map_or_else(|| other.to_string(), str::to_owned);
                let problem = match arguments::read(&raw) {
                    Arguments::Read(arguments) => Ok(arguments),
                    Arguments::Repaired(arguments) => {
                        repaired = true;
                        Ok(arguments)
                    }
                    Arguments::Unfinished => Err("they end in the middle".to_owned()),
                    Arguments::Malformed(problem) => Err(problem),
                };
                problem.map_err(|problem| BadArguments { raw, problem })
            }
        };
        out.push(StreamEvent::CallStarted { tool: tool.clone() });
        self.calls.push(ProposedCall {
            id: text(call.get("id")),
            tool,
            arguments,
            recovered: false,
            repaired,
        });
    }
}

impl Assemble for Lines {
    fn feed(&mut self, frame: Frame, out: &mut Vec<StreamEvent>) -> Result<(), ReportedError> {
        let (Frame::Data(line) | Frame::Document(line) | Frame::Error(line)) = frame else {
            return Ok(());
        };
        let Ok(chunk) = serde_json::from_str::<Value>(&line) else {
            out.extend(damage(&mut self.damaged));
            return Ok(());
        };
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(reported(&chunk));
        }
        self.chunk(&chunk, out);
        Ok(())
    }

    fn has_finish_reason(&self) -> bool {
        self.done_reason.is_some()
    }

    fn is_done(&self) -> bool {
        self.done_reason.is_some()
    }

    fn end(self: Box<Self>) -> Result<ReplyEnd, BrokeOff> {
        let reason = self.done_reason.ok_or(BrokeOff)?;
        // A call with a piece missing may still be readable and mean something else.
        let lost_a_piece = self.damaged && !self.calls.is_empty();
        let unfinished = self.calls.iter().any(|call| {
            let bad = call.arguments.as_ref().err();
            bad.is_some_and(|bad| arguments::read(&bad.raw) == Arguments::Unfinished)
        });
        let cut = reason == "length" || lost_a_piece || unfinished || self.overflowed;
        Ok(ReplyEnd {
            calls: self.calls,
            finish: if cut { Finish::Cut } else { Finish::Complete },
            replay: None,
        })
    }
}

/// Gives what the server has counted, if anything.
fn count(chunk: &Value, out: &mut Vec<StreamEvent>) {
    let count = |field: &str| chunk.get(field).and_then(Value::as_u64);
    let (input, output) = (count("prompt_eval_count"), count("eval_count"));
    if input.is_none() && output.is_none() {
        return;
    }
    out.push(StreamEvent::Usage(Usage {
        input_tokens: input.unwrap_or(0),
        cached_tokens: 0,
        written_tokens: 0,
        output_tokens: output.unwrap_or(0),
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines come to these events, and to this end.
    #[track_caller]
    fn check(case: &str, lines: &[&str], expected: &[&str]) {
        let mut assembly = Box::new(Lines::default());
        let mut events = Vec::new();
        let mut failure = None;
        for line in lines {
            if let Err(error) = assembly.feed(Frame::Data((*line).to_owned()), &mut events) {
                failure = Some(format!("error {} {:?}", error.message, error.code));
                break;
            }
        }
        let mut seen: Vec<String> = events
            .into_iter()
            .map(|event| match event {
                StreamEvent::Text(text) => format!("text {text}"),
                StreamEvent::Reasoning { field, text } => format!("{field} {text}"),
                StreamEvent::CallStarted { tool } => format!("started {tool}"),
                StreamEvent::Usage(usage) => {
                    format!("usage {} {}", usage.input_tokens, usage.output_tokens)
                }
                other => format!("{other:?}"),
            })
            .collect();
        seen.push(failure.unwrap_or_else(|| match assembly.end() {
            Err(BrokeOff) => "broke off".to_owned(),
            Ok(end) => {
                let calls = end.calls.into_iter().map(|call| match call.arguments {
                    Ok(arguments) => {
                        format!(" {}:{}({})", call.id, call.tool, Value::Object(arguments))
                    }
                    Err(bad) => format!(" {}:{}(bad: {})", call.id, call.tool, bad.problem),
                });
                format!("{:?}{}", end.finish, calls.collect::<String>())
            }
        }));
        assert_eq!(seen, expected, "{case}");
    }

    const DONE: &str = r#"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":26,"eval_count":7}"#;

    #[test]
    fn text_reasoning_and_counts() {
        check(
            "a reply",
            &[
                r#"{"model":"small","message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}"#,
                r#"{"message":{"content":"Hi"},"done":false}"#,
                r#"{"message":{"content":" there"}}"#,
                DONE,
            ],
            &[
                "thinking Hm",
                "text Hi",
                "text  there",
                "usage 26 7",
                "Complete",
            ],
        );
        check(
            "text in the last line, nothing counted",
            &[r#"{"message":{"content":"Hi"},"done":true}"#],
            &["text Hi", "Complete"],
        );
        check(
            "a prompt that was known is not counted",
            &[r#"{"message":{},"done":true,"done_reason":"stop","eval_count":7}"#],
            &["usage 0 7", "Complete"],
        );
        check(
            "reasoning in the fields of others, once",
            &[
                r#"{"message":{"reasoning_content":"Hm","reasoning":"Hm"}}"#,
                r#"{"message":{"reasoning":"Hm"}}"#,
                DONE,
            ],
            &["reasoning_content Hm", "usage 26 7", "Complete"],
        );
        check(
            "fields of other types",
            &[
                r#"{"message":{"content":1,"tool_calls":{}},"done":"no"}"#,
                r#"[1]"#,
                DONE,
            ],
            &["usage 26 7", "Complete"],
        );
    }

    #[test]
    fn calls_come_whole_and_before_the_end() {
        check(
            "arguments as an object",
            &[
                r#"{"message":{"content":"","tool_calls":[{"function":{"name":"read_file","arguments":{"file_path":"a"}}}]},"done":false}"#,
                DONE,
            ],
            &[
                "started read_file",
                "usage 26 7",
                r#"Complete :read_file({"file_path":"a"})"#,
            ],
        );
        check(
            "two with the same index, in chunks of their own",
            &[
                r#"{"message":{"tool_calls":[{"id":"x","function":{"index":0,"name":"f","arguments":{}}}]}}"#,
                r#"{"message":{"tool_calls":[{"id":"y","function":{"index":0,"name":"f"}}]}}"#,
                DONE,
            ],
            &[
                "started f",
                "started f",
                "usage 26 7",
                "Complete x:f({}) y:f({})",
            ],
        );
        check(
            "arguments as a text",
            &[
                r#"{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":1}"}},{"function":{"name":"g","arguments":[1]}}]}}"#,
                DONE,
            ],
            &[
                "started f",
                "started g",
                "usage 26 7",
                "Complete :f({\"a\":1}) :g(bad: a JSON object is needed, not an array)",
            ],
        );
        check(
            "a text that ends in the middle",
            &[
                r#"{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":"}}]}}"#,
                DONE,
            ],
            &[
                "started f",
                "usage 26 7",
                "Cut :f(bad: they end in the middle)",
            ],
        );
    }

    #[test]
    fn length_with_calls_runs_none() {
        check(
            "length",
            &[
                r#"{"message":{"tool_calls":[{"function":{"name":"f","arguments":{}}}]}}"#,
                r#"{"message":{},"done":true,"done_reason":"length"}"#,
            ],
            &["started f", "Cut :f({})"],
        );
    }

    #[test]
    fn an_error_within_a_reply_that_began_well() {
        check(
            "a line",
            &[
                r#"{"message":{"content":"Hi"}}"#,
                r#"{"error":"an error was encountered while running the model"}"#,
                DONE,
            ],
            &[
                "text Hi",
                "error an error was encountered while running the model None",
            ],
        );
    }

    #[test]
    fn without_the_last_line_the_reply_broke_off() {
        check(
            "no end",
            &[r#"{"message":{"content":"Hi"},"done":false}"#],
            &["text Hi", "broke off"],
        );
        check("nothing", &[], &["broke off"]);
        check(
            "half a line",
            &[r#"{"message":{"content":"Hi"}}"#, r#"{"message":{"cont"#],
            &[
                "text Hi",
                "Notice(\"a damaged piece of the reply was skipped\")",
                "broke off",
            ],
        );
    }

    #[test]
    fn their_number_is_bounded() {
        let call = r#"{"message":{"tool_calls":[{"function":{"name":"f"}}]}}"#;
        let mut assembly = Box::new(Lines::default());
        let mut events = Vec::new();
        for line in std::iter::repeat_n(call, MAX_CALLS + 1).chain([DONE]) {
            assembly
                .feed(Frame::Data(line.to_owned()), &mut events)
                .unwrap();
        }
        let end = assembly.end().unwrap();
        assert_eq!((end.calls.len(), end.finish), (MAX_CALLS, Finish::Cut));
    }
}
