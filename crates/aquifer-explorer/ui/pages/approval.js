// One approval: everything that would be sent, and the decision.
import { renderDecision } from "/parts/decision_page.js";

export const title = ({ id }) => `Approval ${id}`;

export const render = (main, { id }) => renderDecision(main, [id]);
