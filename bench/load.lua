-- The requests that wrk sends. Arguments: a key, a file with one request per line as "METHOD path", and what its
-- Idempotency-Keys begin with. "KEYED path" is a POST with a new key each time. All are built before the run, so that
-- the generator only has to send them.

local BODY = '{"name":"Rex","categoryId":7,"status":"available"}'
local requests = {}
local position, keyed = 0, 0
local prefix

function init(args)
  wrk.headers["Authorization"] = "Bearer " .. args[1]
  prefix = args[3]
  for line in io.lines(args[2]) do
    local method, path = line:match("^(%u+) (.*)$")
    wrk.headers["Content-Type"] = method ~= "GET" and "application/json" or nil
    wrk.headers["Idempotency-Key"] = method == "KEYED" and "KEY" or nil
    local text = wrk.format(method == "GET" and "GET" or "POST", path, nil, method ~= "GET" and BODY or nil)
    local head, tail = text:match("^(.*Idempotency%-Key: )KEY(.*)$")
    requests[#requests + 1] = head and { head, tail } or text
  end
end

function request()
  position = position % #requests + 1
  local each = requests[position]
  if type(each) == "string" then return each end
  keyed = keyed + 1
  return each[1] .. prefix .. keyed .. each[2]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f,"failed":%d}\n',
    summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
