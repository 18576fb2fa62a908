"""An MLflow tracking and registry store with its own migrations and rows that its own client writes.
Usage: mlflow_tracking.py DATABASE_URL"""

import os
import sys

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["GIT_PYTHON_REFRESH"] = "quiet"

import mlflow
from mlflow import MlflowClient

import database

url = database.sqlalchemy(sys.argv[1])
mlflow.set_tracking_uri(url)
mlflow.set_registry_uri(url)
client = MlflowClient()

for number in range(4):
    tags = {"team": f"team {number % 2}", "mlflow.note.content": "Notes"}
    experiment = client.create_experiment(f"Experiment {number}", artifact_location=f"/tmp/{number}", tags=tags)
    for trial in range(6):
        run = client.create_run(experiment, tags={"mlflow.runName": f"Run {number}.{trial}", "kind": "trial"})
        for name in ("depth", "rate", "seed"):
            client.log_param(run.info.run_id, name, str(trial))
        for step in range(10):
            client.log_metric(run.info.run_id, "loss", 1 / (step + 1), step=step)
        client.set_terminated(run.info.run_id, "FAILED" if trial % 3 == 0 else "FINISHED")

for number in range(3):
    name = f"model-{number}"
    client.create_registered_model(name, tags={"owner": "tests"}, description="A model")
    for version in range(2):
        source = f"{run.info.artifact_uri}/model"
        made = client.create_model_version(name, source=source, run_id=run.info.run_id, description=f"Version {version}")
        client.set_model_version_tag(name, made.version, "stage", "tested")
    client.set_registered_model_alias(name, "champion", "1")
