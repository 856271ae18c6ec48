// The conformance suite knows no tokens; this adds one to each of its requests.
import { createRequire } from "node:module";
import { join } from "node:path";

const { getGlobalDispatcher, setGlobalDispatcher } = createRequire(join(process.env.SUITE_MODULES, "x"))("undici");
const bearer = (dispatch) => (options, handler) => {
  const own = options.headers ?? {};
  const headers = Array.isArray(own) ? [...own, "authorization", `Bearer ${process.env.SUITE_TOKEN}`] : {
    ...(own[Symbol.iterator] ? Object.fromEntries(own) : own),
    authorization: `Bearer ${process.env.SUITE_TOKEN}`,
  };
  return dispatch({ ...options, headers }, handler);
};
setGlobalDispatcher(getGlobalDispatcher().compose(bearer));
