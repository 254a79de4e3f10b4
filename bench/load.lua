-- The requests that wrk sends. Arguments: method, file of paths (one per line), body (may be empty), and headers as
-- "Name: value". They are built before the run, so that the generator only has to send them.

local requests = {}
local position = 0

function init(args)
  wrk.method = args[1]
  if args[3] ~= "" then wrk.body = args[3] end
  for index = 4, #args do
    local name, value = args[index]:match("^(.-): (.*)$")
    wrk.headers[name] = value
  end
  for path in io.lines(args[2]) do
    requests[#requests + 1] = wrk.format(nil, path)
  end
end

function request()
  position = position % #requests + 1
  return requests[position]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f,"failed":%d}\n',
    summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
