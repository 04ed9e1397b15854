import subprocess, sys, os, pytest
def test_x(postgres_url):
    done = subprocess.run([sys.executable,"-m","pytest","-q","-m","not services","tests/api","tests/store/test_people.py","tests/store/test_clusters.py"],cwd="/work/main",env={**os.environ,"DATABASE_URL":postgres_url,"CI":""},capture_output=True,text=True)
    print(done.stdout[-3000:], done.stderr[-500:])
    assert done.returncode==0
